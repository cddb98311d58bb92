// Published measurements of production stacks that no study can say, beside what the simulator gives for the
// same setting.
//
// vLLM's offloading connector: Llama-3.1-8B on one H100 80GB, blocks of 16 tokens of all layers, GPU prefix
// cache off (vLLM blog, 2026-01-08; figures 1 and 2, read off by eye to 2 to 3 %). What was fitted to what:
// the profile's copy curve is figures 3 and 4 of the same page, block copies without a model; the API's time
// a request comes from other servers (scenarios/measured/vllm-offload-h100.json). So nothing is fitted to the
// loads and the throughput below, but loads and block copies were measured on one machine: the loads test
// which pieces are copied and what comes on top, not the link's rate. The page does not say in what order the
// prompts that are found come; throughput is shown for three. published_stacks.h has every entry of the same
// page, and of the others', one by one.
#include <cmath>
#include <cstdio>

#include "base/random.h"
#include "validate/lab.h"
#include "validate/measured.h"
#include "validate/measured_run.h"
#include "validate/published_stacks.h"
#include "validate/reduced.h"
#include "validate/study.h"
#include "validate/suites.h"

namespace kvcap {
namespace {

Scenario offload_scenario(const Overrides& changes = {}) {
  return Lab(true).scenario({"scenarios/measured/vllm-offload-h100.json", changes, {}});
}

// Figure 1: ms to the first token of one request alone, its prompt computed or loaded from DRAM.
struct PromptTimes {
  int64_t tokens = 0;
  double computed_ms = 0, loaded_ms = 0;
};
constexpr PromptTimes kPrompts[] = {
    {10000, 260, 40},   {20000, 640, 68},   {30000, 1095, 102}, {40000, 1645, 130}, {50000, 2290, 158},
    {60000, 3015, 188}, {70000, 3850, 216}, {80000, 4790, 250}, {90000, 5745, 278}, {100000, 6855, 308}};

// Figure 2: thousand prompt tokens a second of 10,000 prompts of 512 tokens, of which a share lies in DRAM.
struct HitRateThroughput {
  double hit_rate = 0, kilo_tokens_per_s = 0;
};
constexpr HitRateThroughput kThroughputs[] = {{0, 42.5},   {0.1, 46.2}, {0.2, 52}, {0.3, 56.8},
                                              {0.4, 64.5}, {0.5, 73.8}, {0.6, 89}, {0.7, 116},
                                              {0.8, 158},  {0.9, 218},  {1, 389}};
constexpr double kWithoutOffloading = 43.7;  // the same without the connector
constexpr uint32_t kBatchPrompts = 10000;
constexpr uint32_t kPromptTokens = 512;

Check row(const std::string& id, const std::string& what, double tolerance) {
  return {.id = "stacks.vllm_offload." + id, .suite = "stacks", .what = what, .tolerance = tolerance};
}

std::string kilo(int64_t tokens) { return std::to_string(tokens / 1000) + "k"; }

enum class HitOrder { drawn, first, last };

// All prompts at once, of which a share is stored.
Workload burst(double hit_rate, HitOrder order = HitOrder::drawn) {
  const RandomStream random(1, "hits");
  const auto is_stored = [&](uint32_t i) {
    if (order == HitOrder::drawn) return random.uniform(i, 0) < hit_rate;
    const uint32_t place = order == HitOrder::first ? i : kBatchPrompts - 1 - i;
    return place < hit_rate * kBatchPrompts;
  };
  Workload workload;
  workload.warm_start = true;
  for (uint32_t i = 0; i < kBatchPrompts; ++i) {
    const bool is_hit = is_stored(i);
    workload.sessions.push_back({.first_turn = i,
                                 .turn_count = 1,
                                 .context_tokens = is_hit ? kPromptTokens - 1 : 0,
                                 .history_grows = !is_hit});
    workload.turns.push_back({.input_tokens = is_hit ? 1 : kPromptTokens, .output_tokens = 1});
  }
  return workload;
}

// 10,000 prompts take 0.67 TB.
const std::string kRoom = "hardware.dram.capacity_bytes=2e12";

double kilo_tokens_per_s(const RunResult& run) {
  return kBatchPrompts * static_cast<double>(kPromptTokens) / run.number("duration") / 1e3;
}

// Simulated throughputs of `scenario`, as two rows: up to 50 % and above.
std::vector<Check> throughput_checks(const Scenario& scenario, const std::string& id, const std::string& what,
                                     HitOrder order) {
  std::vector<Case> cases;
  for (const HitRateThroughput& one : kThroughputs) cases.push_back({scenario, burst(one.hit_rate, order)});
  const std::vector<RunResult> runs = run_cases(cases);
  const std::string prompts = "thousand prompt tokens a second of 10,000 prompts of 512 tokens, ";
  std::vector<Check> checks = {
      row(id + ".to_50", prompts + "0 to 50 % of them loaded from DRAM" + what, 0.12),
      row(id + ".above_50", prompts + "60 to 100 % of them loaded" + what, 0.12)};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const HitRateThroughput& one = kThroughputs[i];
    const double simulated = kilo_tokens_per_s(runs[i]);
    Check& check = checks[one.hit_rate <= 0.5 ? 0 : 1];
    check.simulated.push_back(simulated);
    check.reference.push_back(one.kilo_tokens_per_s);
    check.cases.push_back({simulated, one.kilo_tokens_per_s});
  }
  // Nothing is loaded at 0 %.
  const double computed = checks.front().simulated.front();
  char reason[200];
  std::snprintf(reason, sizeof reason,
                "the order in which hits come is not published; prompts alone come at %.3g, where %.3g were "
                "measured without offloading",
                computed, kWithoutOffloading);
  for (Check& check : checks) check.reason = reason;
  return checks;
}

}  // namespace

std::vector<MeasuredRun> stacks_runs() {
  const auto ttft_ms = [](const RunResult& result) { return std::vector{result.number("mean_ttft_ms")}; };
  std::vector<MeasuredRun> runs;
  for (const PromptTimes& prompt : kPrompts) {
    const Scenario scenario = offload_scenario();
    runs.push_back({.family = "stacks.load",
                    .scenario = scenario,
                    .workload = requests_at_once({.count = 1, .tokens = prompt.tokens - 1}),
                    .measured = {prompt.loaded_ms},
                    .simulated = ttft_ms,
                    .gap = ""});
    runs.push_back({.family = "stacks.compute",
                    .scenario = scenario,
                    .workload = requests_at_once({.count = 1, .tokens = 0, .new_tokens = prompt.tokens}),
                    .measured = {prompt.computed_ms},
                    .simulated = ttft_ms,
                    .gap = ""});
  }
  for (const HitRateThroughput& one : kThroughputs) {
    runs.push_back(
        {.family = "stacks.throughput",
         .scenario = offload_scenario({kRoom}),
         .workload = burst(one.hit_rate),
         .measured = {one.kilo_tokens_per_s},
         .simulated = [](const RunResult& run) { return std::vector{kilo_tokens_per_s(run)}; },
         .gap = one.hit_rate > 0 ? "the order in which hits come is not published and is drawn" : ""});
  }
  return runs;
}

std::vector<StackRun> offload_experiments() {
  const auto ttft_ms = [](const RunResult& result) { return result.number("mean_ttft_ms"); };
  std::vector<StackRun> experiments;
  for (const PromptTimes& prompt : kPrompts) {
    const Scenario scenario = offload_scenario();
    experiments.push_back({.run = {scenario, requests_at_once({.count = 1, .tokens = prompt.tokens - 1})},
                           .answers = {{"vllm-off-ttft-load-" + kilo(prompt.tokens), ttft_ms}}});
    experiments.push_back(
        {.run = {scenario, requests_at_once({.count = 1, .tokens = 0, .new_tokens = prompt.tokens})},
         .answers = {{"vllm-off-ttft-compute-" + kilo(prompt.tokens), ttft_ms}}});
  }
  const auto per_s = [](const RunResult& run) { return 1e3 * kilo_tokens_per_s(run); };
  for (const HitRateThroughput& one : kThroughputs) {
    const auto percent = std::to_string(std::llround(100 * one.hit_rate));
    experiments.push_back(
        {.run = {offload_scenario({kRoom, "policy.name=vllm_offload"}), burst(one.hit_rate)},
         .answers = {{"vllm-off-tput-hit" + percent, per_s}}});
  }
  experiments.push_back({.run = {offload_scenario({kRoom, "policy.name=recompute"}), burst(0)},
                         .answers = {{"vllm-off-tput-none", per_s}}});
  return experiments;
}

std::vector<Check> stacks_checks(const SuiteOptions& options) {
  std::vector<std::vector<Check>> throughputs;
  const Scenario scenario = offload_scenario({kRoom});
  throughputs.push_back(
      throughput_checks(scenario, "throughput", ", hits in an order that is drawn", HitOrder::drawn));
  throughputs.push_back(
      throughput_checks(scenario, "throughput_hits_first", ", all hits first", HitOrder::first));
  throughputs.push_back(
      throughput_checks(scenario, "throughput_misses_first", ", all hits last", HitOrder::last));
  std::vector<Check> checks = study_checks("stacks", options);
  for (std::vector<Check>& more : throughputs) {
    for (Check& check : more) {
      judge(check);
      checks.push_back(std::move(check));
    }
  }
  if (options.quick) return checks;
  for (const auto& more : {published_checks, pulse_checks}) {
    for (Check& check : more(options.data_folder)) checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace kvcap
