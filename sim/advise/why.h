// Explains why the answer of a plan wins: its differences from the runner-up in cost and time to first token,
// by part; the bottlenecks; the tightest target; and the effect of other prices. Uses only runs that the
// search has made.
#pragma once

#include <string>
#include <vector>

#include "advise/search.h"

namespace kvcap {

// A difference between the answer and the runner-up (answer minus runner-up, paired by seed) in one part of
// the cost or the TTFT.
struct PartDifference {
  std::string name;  // part of the cost: "GPU"; of the TTFT: "queue", "lookup", ..., "prefill", "batching"
  MeanInterval difference;
};

struct Why {
  const Candidate* runner_up = nullptr;  // null: no other configuration was judged
  MeanInterval objective;
  std::vector<PartDifference> costs;  // empty unless the objective is a cost
  // The difference in mean TTFT, which is the sum of the differences in its parts. The part `prefill` is the
  // prefill time on an idle engine, `batching` the time added by sharing steps with other requests.
  MeanInterval ttft_ms;
  std::vector<PartDifference> ttft_parts_ms;
};

// Compares the answer with a runner-up: the cheapest configuration that meets every target and differs in a
// non-numeric choice, such as policy or machine; if there is none, the cheapest other configuration that
// meets every target; if there is none either, the judged configuration with the next lower objective.
Why why(const Plan& plan, const PlanResult& result);

struct BottleneckShare {
  std::string resource;  // name as in `utilization`, or "none"
  double share = 0;      // share of the time
};
// Returns the resources with a share above 0, in descending order of their share; "none" is last.
std::vector<BottleneckShare> bottleneck(const Candidate& candidate);

// Returns the target with the least slack; null without targets.
const Target* binding_target(const Plan& plan, const Candidate& candidate);

// One part of a machine's cost.
struct PricedPart {
  const char* name;
  const char* metric;
};
inline constexpr PricedPart kPricedParts[] = {{"GPU", "cost.gpu_usd"},
                                              {"DRAM", "cost.dram_usd"},
                                              {"SSD", "cost.ssd_usd"},
                                              {"remote storage", "cost.remote_usd"}};

bool minimizes_cost(const Plan& plan);

// Returns the part's contribution to the plan's objective, which is a cost: for one run, or the mean over a
// candidate's runs.
double part_of_objective(const Plan& plan, const RunResult& run, const PricedPart& part);
double part_of_objective(const Plan& plan, const Candidate& candidate, const PricedPart& part);

// The effect of a price change of 20 % on the answer. Computed only if the objective is a cost.
struct PriceChange {
  std::string what;                 // "GPU price +20 %"
  double objective = 0;             // objective of the answer
  const Candidate* best = nullptr;  // cheapest judged configuration that meets every target
};
std::vector<PriceChange> price_changes(const Plan& plan, const PlanResult& result);

}  // namespace kvcap
