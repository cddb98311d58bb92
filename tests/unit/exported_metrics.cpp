#include "unit/exported_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace kvcap {
namespace {

const std::vector<double> kTtftBounds = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                                         1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
const std::vector<double> kItlBounds = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                                        0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};

std::vector<double> token_bounds(double most) {
  std::vector<double> bounds;
  for (double power = 1;; power *= 10) {
    for (const double one : {1, 2, 5}) {
      if (one * power > most) return bounds;
      bounds.push_back(one * power);
    }
  }
}

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

class Text {
 public:
  Text(std::string model, double unix_s)
      : labels_("engine=\"0\",model_name=\"" + std::move(model) + "\""),
        stamp_(" " + std::to_string(std::llround(1e3 * unix_s))) {}

  void declare(const std::string& name, const std::string& type) {
    text_ += "# TYPE " + name + " " + type + "\n";
  }
  void sample(const std::string& name, const std::string& more_labels, double value) {
    text_ += name + "{" + labels_ + more_labels + "} " + number_text(value) + stamp_ + "\n";
  }
  void counter(const std::string& name, double value) {
    declare(name, "counter");
    sample(name + "_total", "", value);
  }
  void gauge(const std::string& name, double value) {
    declare(name, "gauge");
    sample(name, "", value);
  }
  // `share_below(bound)` of `count` values.
  template <class ShareBelow>
  void histogram(const std::string& name, const std::vector<double>& bounds, double count, double sum,
                 const ShareBelow& share_below) {
    declare(name, "histogram");
    for (const double bound : bounds)
      sample(name + "_bucket", ",le=\"" + number_text(bound) + "\"", std::round(count * share_below(bound)));
    sample(name + "_bucket", ",le=\"+Inf\"", count);
    sample(name + "_count", "", count);
    sample(name + "_sum", "", sum);
  }
  void histogram(const std::string& name, const std::vector<double>& bounds, std::vector<double> values) {
    std::sort(values.begin(), values.end());
    double sum = 0;
    for (const double one : values) sum += one;
    const auto count = static_cast<double>(values.size());
    histogram(name, bounds, count, sum, [&](double bound) {
      const auto below = std::upper_bound(values.begin(), values.end(), bound) - values.begin();
      return count > 0 ? static_cast<double>(below) / count : 0;
    });
  }
  std::string take() { return std::move(text_); }
  void add(const std::string& line) { text_ += line + stamp_ + "\n"; }

 private:
  std::string labels_, stamp_, text_;
};

}  // namespace

std::string ExportedRun::vllm(double time_s) const {
  Text text(config_.model, config_.unix_s + time_s);
  std::vector<double> ttft_s, e2el_s, prompts, answers;
  double running = 0, waiting = 0, queried = 0, hits = 0, prompt_tokens = 0, answer_tokens = 0, gaps = 0,
         kv = 0;
  for (const TurnRecord& turn : result_.turns) {
    const auto prompt = static_cast<double>(turn.history_tokens) + turn.input_tokens;
    if (turn.arrival_s > time_s) continue;
    const double admitted_s = turn.arrival_s + turn.ttft_s - turn.service_ttft_s;
    if (admitted_s <= time_s) {
      queried += prompt;
      hits += turn.hit_tokens;
    }
    if (turn.arrival_s + turn.ttft_s <= time_s) ttft_s.push_back(turn.ttft_s);
    if (turn.arrival_s + turn.e2el_s > time_s) {
      ++(admitted_s <= time_s ? running : waiting);
      if (admitted_s <= time_s) kv += prompt;
      continue;
    }
    e2el_s.push_back(turn.e2el_s);
    prompts.push_back(prompt);
    answers.push_back(turn.output_tokens);
    prompt_tokens += prompt;
    answer_tokens += turn.output_tokens;
    gaps += turn.output_tokens - 1.0;
  }
  const double capacity = result_.number("kv_capacity_tokens");
  const std::string config = config_.prefix_caching ? "True" : "False";
  text.declare("vllm:cache_config_info", "gauge");
  text.add("vllm:cache_config_info{block_size=\"" + std::to_string(config_.block_size) +
           "\",cache_dtype=\"auto\",enable_prefix_caching=\"" + config +
           "\",engine=\"0\",gpu_memory_utilization=\"0.9\",num_gpu_blocks=\"" +
           std::to_string(std::llround(capacity / config_.block_size)) + "\"} 1.0");
  text.gauge("vllm:num_requests_running", running);
  text.gauge("vllm:num_requests_waiting", waiting);
  text.gauge("vllm:kv_cache_usage_perc", std::min(1.0, kv / capacity));
  text.counter("vllm:prefix_cache_queries", config_.prefix_caching ? queried : 0);
  text.counter("vllm:prefix_cache_hits", config_.prefix_caching ? hits : 0);
  text.counter("vllm:external_prefix_cache_hits", 0);
  text.counter("vllm:num_preemptions", time_s < end_s() ? 0 : result_.number("preemptions"));
  text.counter("vllm:prompt_tokens", prompt_tokens);
  text.counter("vllm:generation_tokens", answer_tokens);
  text.declare("vllm:request_success", "counter");
  text.sample("vllm:request_success_total", ",finished_reason=\"stop\"", static_cast<double>(e2el_s.size()));
  text.sample("vllm:request_success_total", ",finished_reason=\"abort\"", 0);
  text.histogram("vllm:time_to_first_token_seconds", kTtftBounds, ttft_s);
  std::vector<double> itl_ms;
  for (const auto& [name, quantiles] : result_.distributions) {
    if (name == "itl_ms") itl_ms = quantiles;
  }
  if (!itl_ms.empty()) {
    const auto share_below = [&](double bound) {
      const auto below = std::upper_bound(itl_ms.begin(), itl_ms.end(), 1e3 * bound) - itl_ms.begin();
      return static_cast<double>(below) / static_cast<double>(itl_ms.size());
    };
    text.histogram("vllm:inter_token_latency_seconds", kItlBounds, gaps,
                   gaps * 1e-3 * result_.number("mean_itl_ms"), share_below);
  }
  text.histogram("vllm:e2e_request_latency_seconds", kTtftBounds, e2el_s);
  text.histogram("vllm:request_prompt_tokens", token_bounds(131072), prompts);
  text.histogram("vllm:request_generation_tokens", token_bounds(131072), answers);
  return text.take();
}

}  // namespace kvcap
