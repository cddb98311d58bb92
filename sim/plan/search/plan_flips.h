// Where the answer of a plan flips: how far the traffic, the lengths of prompts or a price may change until
// the answer misses a target, or something cheaper meets them all.
//
// Traffic and prompts are walked from 1 outwards and bisected, each step one run under the first seed; so a
// flip lies between two factors. Downwards, what was judged cheaper and missed least is asked again. A price
// enters costs linearly: its flips are computed, among what was judged to meet every target.
#pragma once

#include <string>
#include <vector>

#include "plan/search/plan_search.h"
#include "workload/options.h"

namespace kvcap {

struct Flip {
  std::string what;      // "traffic", "prompts", "SSD price"
  double factor = 1;     // of what it is, at which the answer is another; or as far as was looked
  double holds = 1;      // the last one looked at where it is not; of a price the same as `factor`
  bool is_found = true;  // false: the answer holds up to `factor`
  std::string reason;    // what the answer misses there: a metric, "unstable", "stable"; else empty
  Changes better;        // what meets every target there and costs less; else empty
};

// The nearest first, by |log factor|; those that were not found last. `arrivals`: the answer's.
std::vector<Flip> find_flips(const Plan& plan, const PlanResult& result, const ArrivalOptions& arrivals,
                             Evaluator& evaluator);

// The settings that make the traffic `share` of what it is.
Changes traffic_changes(const ArrivalOptions& arrivals, double share);

// A part of what a machine costs.
struct PricedPart {
  const char* name;
  const char* metric;
};
inline constexpr PricedPart kPricedParts[] = {{"GPU", "cost.gpu_usd"},
                                              {"DRAM", "cost.dram_usd"},
                                              {"SSD", "cost.ssd_usd"},
                                              {"remote storage", "cost.remote_usd"}};

// What of the plan's objective, a cost, the part makes: of one run, of the mean over runs.
double part_of_objective(const Plan& plan, const RunResult& run, const PricedPart& part);
double part_of_objective(const Plan& plan, const Candidate& candidate, const PricedPart& part);

}  // namespace kvcap
