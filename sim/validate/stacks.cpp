// Published measurements of production stacks, beside what the simulator gives for the same setting.
//
// vLLM's offloading connector: Llama-3.1-8B on one H100 80GB, blocks of 16 tokens of all layers, GPU prefix
// cache off (vLLM blog, 2026-01-08; figures 1 and 2, read off by eye to 2 to 3 %). What was fitted to what:
// the profile's copy curve is figures 3 and 4 of the same page, block copies without a model; the API's time
// a request comes from other servers (scenarios/measured/vllm-offload-h100.json). So nothing is fitted to the
// loads and the throughput below, but loads and block copies were measured on one machine: the loads test
// which pieces are copied and what comes on top, not the link's rate.
#include <cmath>

#include "base/random.h"
#include "validate/lab.h"
#include "validate/reduced.h"
#include "validate/suites.h"

namespace kvcap {
namespace {

constexpr const char* kOffload = "vllm-offload-h100";

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
constexpr uint32_t kBatchPrompts = 10000;
constexpr uint32_t kPromptTokens = 512;

Check row(const std::string& id, const std::string& what, double tolerance) {
  return {.id = "stacks.vllm_offload." + id, .suite = "stacks", .what = what, .tolerance = tolerance};
}

std::string kilo(int64_t tokens) { return std::to_string(tokens / 1000) + "k"; }

void add_first_tokens(Lab& lab, std::vector<Check>& checks) {
  for (const PromptTimes& prompt : kPrompts) {
    // Of a prompt that is found as a whole the last token is computed again.
    Check check = row("load_" + kilo(prompt.tokens),
                      "ms to the first token, " + kilo(prompt.tokens) + " tokens loaded from DRAM", 0.1);
    check.simulated = {lab.metric(kOffload, {}, "mean_ttft_ms", {.count = 1, .tokens = prompt.tokens - 1})};
    check.reference = {prompt.loaded_ms};
    checks.push_back(std::move(check));
  }
  Check computed = row("compute", "ms to the first token, 10k to 100k tokens computed", 0.1);
  for (const PromptTimes& prompt : kPrompts) {
    computed.simulated.push_back(
        lab.metric(kOffload, {}, "mean_ttft_ms", {.count = 1, .tokens = 0, .new_tokens = prompt.tokens}));
    computed.reference.push_back(prompt.computed_ms);
    computed.cases.push_back({computed.simulated.back(), prompt.computed_ms});
  }
  computed.reason = "prefill, whose times come from the kernels of other vLLM versions";
  checks.push_back(std::move(computed));
}

// All prompts at once; which of them are stored is drawn.
Workload burst(double hit_rate) {
  const RandomStream random(1, "hits");
  Workload workload;
  workload.warm_start = true;
  for (uint32_t i = 0; i < kBatchPrompts; ++i) {
    const bool is_hit = random.uniform(i, 0) < hit_rate;
    workload.sessions.push_back({.first_turn = i,
                                 .turn_count = 1,
                                 .context_tokens = is_hit ? kPromptTokens - 1 : 0,
                                 .history_grows = !is_hit});
    workload.turns.push_back({.input_tokens = is_hit ? 1 : kPromptTokens, .output_tokens = 1});
  }
  return workload;
}

std::vector<Check> throughput_checks(const Scenario& scenario) {
  std::vector<Case> cases;
  for (const HitRateThroughput& one : kThroughputs) cases.push_back({scenario, burst(one.hit_rate)});
  const std::vector<RunResult> runs = run_cases(cases);
  std::vector<Check> checks;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const HitRateThroughput& one = kThroughputs[i];
    const int percent = static_cast<int>(std::lround(100 * one.hit_rate));
    Check check =
        row("throughput_" + std::to_string(percent),
            "thousand prompt tokens a second, " + std::to_string(percent) + " % loaded from DRAM", 0.12);
    check.simulated = {kBatchPrompts * static_cast<double>(kPromptTokens) / runs[i].number("duration") / 1e3};
    check.reference = {one.kilo_tokens_per_s};
    check.reason = "TODO";
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace

std::vector<Check> stacks_checks(const SuiteOptions&) {
  Lab lab("scenarios/measured/");
  std::vector<Check> checks;
  do {
    checks.clear();
    add_first_tokens(lab, checks);
  } while (lab.run_missing());
  const std::vector<Check> throughputs = throughput_checks(lab.scenario(kOffload, {}));
  checks.insert(checks.end(), throughputs.begin(), throughputs.end());
  for (Check& check : checks) judge(check);
  return checks;
}

}  // namespace kvcap
