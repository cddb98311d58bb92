// Published measurements of production stacks, one by one: what is simulated of each from the catalogue,
// untuned but where an entry's check says so, and of each that is not which concept is missing.
//
// A StackRun is a run and the ids of the entries that read it; one file builds those of a kind. Tolerances
// stand in published_stacks.cpp and were set before the first run.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "metrics/result.h"
#include "validate/check.h"
#include "validate/reduced.h"

namespace kvcap {

struct StackRun {
  Case run;
  // Of each entry that reads the run: its id, and the simulated figure in the entry's unit. Runs that answer
  // the same entry are draws of what is not said, and the entry's figure is their mean.
  std::vector<std::pair<std::string, std::function<double(const RunResult&)>>> answers;
};

// A scenario of which `members` is what differs from a run of the engine alone; the workload is built by
// hand.
Scenario stack_scenario(const std::string& members, const std::vector<std::string>& overrides = {});

// Turns that begin in [from_s, to_s).
struct MeasuredWindow {
  double from_s = 0, to_s = 1e18;
};
double mean_ttft_s(const RunResult& run, const MeasuredWindow& window = {});
double mean_e2el_s(const RunResult& run, const MeasuredWindow& window = {});
double ttft_quantile_s(const RunResult& run, double share, const MeasuredWindow& window = {});
// Prompt tokens, and where asked those of answers, over the time from the window's begin (or the first
// arrival) to the last answer.
double tokens_per_s(const RunResult& run, bool with_answers, const MeasuredWindow& window = {});

// Prompts of groups that share their beginning, in a shuffled order, over and over.
struct SharedPrefixes {
  uint32_t groups = 1, prompts_of_group = 1;
  uint32_t shared_tokens = 1, own_tokens = 1, output_tokens = 1;
};
// `count` of them, `concurrency` at any time.
Workload closed_loop_of(const SharedPrefixes& prompts, std::size_t count, int64_t concurrency);
// Stages of so many arrivals as a rate means, at dates drawn evenly, with pauses in which all is answered;
// `windows` gets the stages.
struct Stage {
  double rate = 0, lasts_s = 0;
};
Workload ladder_of(const SharedPrefixes& prompts, const std::vector<Stage>& stages,
                   std::vector<MeasuredWindow>& windows);

// What is not simulated: ids that begin with `prefix`, and why.
struct NotExpressed {
  std::string_view prefix, missing;
  Role role = Role::test;  // input: the simulator was given it
};

// One file each.
std::vector<StackRun> offload_experiments();   // vLLM's connector on an H100 (stacks.cpp)
std::vector<StackRun> hicache_experiments();   // rounds of chats under SGLang's HiCache
std::vector<StackRun> tier_experiments();      // llm-d's tiers of eight servers
std::vector<StackRun> handover_experiments();  // KV between servers for prompts and for answers
std::vector<StackRun> pressure_experiments();  // vLLM short of KV blocks; Dynamo's disk

// Every entry of data/stacks.json as a check, with cliffs, orders and the sums of them all. Empty where the
// file is not there, with a line that says so.
std::vector<Check> published_checks(const std::string& data);
// The hit rate of a real vLLM over time (`data`/runs/llmservingsim-ispass26).
std::vector<Check> pulse_checks(const std::string& data);

}  // namespace kvcap
