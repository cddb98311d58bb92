#include "workload/readers/vllm_bench.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "workload/arrivals.h"
#include "workload/logs/json_file.h"
#include "workload/logs/request_log.h"
#include "workload/logs/rows.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kHowToDetail =
    "run vllm bench serve with --save-result --save-detailed, or SGLang's bench_serving with "
    "--output-details";

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

template <class Number>
std::optional<Number> number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<Number>();
}

// Arrays that --save-detailed adds; entry i of each belongs to request i.
class Details {
 public:
  Details(const std::string& path, const Json& run)
      : path_(path), run_(run), size_(array("input_lens")->size()) {
    for (const char* key : {"output_lens", "ttfts", "itls", "latencies", "start_times", "errors"}) {
      const Json* other = array(key);
      if (!other || other->size() == size_) continue;
      throw InputError(path_ + ": " + key + ": found " + std::to_string(other->size()) +
                       " entries, allowed: " + std::to_string(size_) + ", as many as input_lens has");
    }
  }

  std::size_t size() const { return size_; }
  // Returns null if the file lacks the array.
  const Json* at(const char* key, std::size_t i) const {
    const Json* values = array(key);
    return values ? &(*values)[i] : nullptr;
  }
  // Returns NaN if the file lacks the array.
  double seconds(const char* key, std::size_t i) const {
    const Json* value = at(key, i);
    if (!value) return NAN;
    const double seconds = value->is_number() ? value->get<double>() : -1;
    if (!(seconds >= 0)) bad_value(key + ("." + std::to_string(i)), *value, "seconds of at least 0");
    return seconds;
  }

 private:
  const Json* array(const char* key) const {
    const auto found = run_.find(key);
    if (found == run_.end() || found->is_null()) return nullptr;
    if (found->is_array()) return &*found;
    throw InputError(path_ + ": " + key + ": found " + shown_in_row(*found) + ", allowed: an array");
  }

  const std::string& path_;
  const Json& run_;
  std::size_t size_ = 0;
};

// Appends a request's gaps between tokens to `itls_s` and returns their sum.
double take_itls_s(const Json* gaps, const std::string& path, std::vector<float>& itls_s) {
  if (!gaps) return NAN;
  if (!gaps->is_array()) bad_value(path, *gaps, "an array of seconds");
  double sum_s = 0;
  std::vector<float> mine;
  for (const Json& gap : *gaps) {
    const double gap_s = gap.is_number() ? gap.get<double>() : -1;
    if (!(gap_s >= 0)) bad_value(path, gap, "seconds of at least 0");
    sum_s += gap_s;
    mine.push_back(static_cast<float>(gap_s));
  }
  itls_s.insert(itls_s.end(), mine.begin(), mine.end());
  return sum_s;
}

bool has_failed(const Details& details, std::size_t i) {
  const Json* error = details.at("errors", i);
  if (error && error->is_string() && !error->get_ref<const std::string&>().empty()) return true;
  const Json* output = details.at("output_lens", i);
  return output && *output == 0;
}

void take_request(const Details& details, std::size_t i, BenchRun& run) {
  const std::string number = "." + std::to_string(i);
  BenchRequest request;
  request.input_tokens = token_count(*details.at("input_lens", i), "input_lens" + number, 1);
  request.output_tokens = token_count(*details.at("output_lens", i), "output_lens" + number, 1);
  request.start_s = details.seconds("start_times", i);
  request.measured.ttft_s = details.seconds("ttfts", i);
  // An endpoint that does not stream reports 0.
  if (request.measured.ttft_s == 0) request.measured.ttft_s = NAN;
  request.measured.e2el_s = details.seconds("latencies", i);
  request.row = static_cast<int64_t>(i);
  const std::size_t gaps_before = run.itls_s.size();
  const double decode_s = take_itls_s(details.at("itls", i), "itls" + number, run.itls_s);
  if (std::isnan(request.measured.e2el_s)) request.measured.e2el_s = request.measured.ttft_s + decode_s;
  request.gaps = run.itls_s.size() - gaps_before;
  run.requests.push_back(request);
}

void take_requests(const std::string& path, const Json& json, BadRow on_bad_row, BadRows& bad,
                   BenchRun& run) {
  if (!json.contains("input_lens") || json["input_lens"].is_null()) return;
  const Details details(path, json);
  if (!json.contains("output_lens") || json["output_lens"].is_null())
    throw InputError(path + ": output_lens: missing, required with input_lens");
  for (std::size_t i = 0; i < details.size(); ++i) {
    if (has_failed(details, i)) {
      ++run.requests_failed;
      continue;
    }
    try {
      take_request(details, i, run);
    } catch (const BadRowError& error) {
      count_bad_row(path + ": " + error.reason, on_bad_row, bad);
    }
  }
}

BenchRun read_run(const std::string& path, const Json& json, BadRow on_bad_row, BadRows& bad) {
  if (!json.is_object() || !json.contains("request_rate")) {
    throw InputError(path + ": found " + shown_in_row(json) +
                     " without request_rate, allowed: results of vllm bench serve");
  }
  BenchRun run;
  run.model_id = text_at(json, "model_id");
  run.backend = text_at(json, "backend");
  run.date = text_at(json, "date");
  run.request_rate = number_at<double>(json, "request_rate");  // "inf" is a string
  if (run.request_rate && !(*run.request_rate > 0 && std::isfinite(*run.request_rate)))
    run.request_rate.reset();
  run.burstiness = number_at<double>(json, "burstiness").value_or(1);
  run.max_concurrency = number_at<int64_t>(json, "max_concurrency");
  run.num_prompts = number_at<int64_t>(json, "num_prompts");
  run.completed = number_at<int64_t>(json, "completed");
  run.failed = number_at<int64_t>(json, "failed");
  run.total_input_tokens = number_at<int64_t>(json, "total_input_tokens");
  run.total_output_tokens = number_at<int64_t>(json, "total_output_tokens");
  run.duration_s = number_at<double>(json, "duration");
  for (const auto& [key, value] : json.items()) {
    if (value.is_number() && (key.ends_with("_ms") || key.ends_with("_throughput"))) run.metrics[key] = value;
  }
  take_requests(path, json, on_bad_row, bad, run);
  return run;
}

std::vector<BenchRun> read_runs(const std::string& path, BadRow on_bad_row, BadRows& bad) {
  std::vector<BenchRun> runs;
  for (const Json& json : read_json_documents(path, {"generated_texts"})) {
    runs.push_back(read_run(path, json, on_bad_row, bad));
  }
  return runs;
}

// Draws arrivals as vllm bench serve does: with gamma-distributed gaps at the requested rate.
std::vector<double> drawn_starts_s(const BenchRun& run, uint64_t seed) {
  if (!run.request_rate) return std::vector<double>(run.requests.size(), 0);
  ArrivalOptions options;
  options.process = run.burstiness == 1 ? ArrivalProcess::poisson : ArrivalProcess::gamma;
  options.requests_per_s = run.request_rate;
  options.cv = 1 / std::sqrt(run.burstiness);
  return draw_arrivals(options, 1, run.requests.size(), seed);
}

std::string shown(double number) { return Json(number).dump(); }

// Returns a note on the arrivals; empty if the file has start times and no limit on concurrency.
std::string note_on_starts(const BenchRun& run, bool has_starts) {
  std::string note;
  if (!has_starts && run.request_rate) {
    note = "the file has no start_times: arrivals are drawn as the bench draws them, at " +
           shown(*run.request_rate) + " requests/s with burstiness " + shown(run.burstiness);
  } else if (!has_starts) {
    note = "the file has no start_times: all requests arrive at once, as request_rate=inf implies";
  }
  if (!run.max_concurrency) return note;
  const std::string most = std::to_string(*run.max_concurrency);
  if (!note.empty()) note += "; ";
  return note + "the bench had at most " + most + " requests in flight, so " +
         (has_starts ? "the starts depend on the server that it measured" : "it delayed the others") +
         ": workload.arrivals closed_loop with concurrency " + most + " reproduces this limit on any machine";
}

}  // namespace

std::vector<BenchRun> read_bench_runs(const std::string& path, BadRow on_bad_row, int64_t* bad) {
  BadRows rows;
  std::vector<BenchRun> runs = read_runs(path, on_bad_row, rows);
  if (bad) *bad = rows.count;
  return runs;
}

Source read_vllm_bench(const SourceOptions& options, std::optional<int64_t> most, uint64_t seed) {
  BadRows bad;
  std::vector<BenchRun> runs = read_runs(options.path, options.on_bad_row, bad);
  if (runs.size() != 1) {
    throw InputError(
        options.path + ": found " + std::to_string(runs.size()) +
        " results of vllm bench serve, allowed: one (--append-result, and SGLang's bench_serving "
        "always, write one per line)");
  }
  BenchRun& run = runs.front();
  if (run.requests.empty() && bad.count == 0 && run.requests_failed == 0) {
    throw InputError(options.path + ": input_lens: missing, required: " + std::string(kHowToDetail));
  }
  if (!(run.burstiness > 0 && std::isfinite(run.burstiness))) {
    throw InputError(options.path + ": burstiness: found " + shown(run.burstiness) +
                     ", allowed: more than 0");
  }
  const bool has_starts = !run.requests.empty() && !std::isnan(run.requests.front().start_s);
  const std::vector<double> drawn_s = has_starts ? std::vector<double>() : drawn_starts_s(run, seed);
  // Start times come from a performance counter with an arbitrary zero, so the first request is set to arrive
  // at 0.
  double first_s = INFINITY;
  for (const BenchRequest& one : run.requests) first_s = std::min(first_s, one.start_s);
  RequestLog log(most);
  log.left_out.failed = run.requests_failed;
  log.enter_list("request ");
  const float* gaps = run.itls_s.data();
  for (std::size_t i = 0; i < run.requests.size(); ++i) {
    const BenchRequest& one = run.requests[i];
    const double time_s = has_starts ? one.start_s - first_s : drawn_s[i];
    const bool is_added = log.add({.time_ns = std::llround(time_s * 1e9),
                                   .input_tokens = one.input_tokens,
                                   .output_tokens = one.output_tokens,
                                   .measured = one.measured,
                                   .row = one.row});
    if (is_added) log.itls_s.insert(log.itls_s.end(), gaps, gaps + one.gaps);
    gaps += one.gaps;
  }
  Source source = log.finish(options.path, bad);
  const std::string note = note_on_starts(run, has_starts);
  if (!note.empty()) source.notes.push_back(note);
  return source;
}

}  // namespace kvcap
