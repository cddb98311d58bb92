// Finds where the answer of a plan flips: the change of traffic, prompt lengths or a price at which the
// answer misses a target or a cheaper configuration meets every target.
//
// The factor of traffic or prompt lengths moves step by step away from 1 until the answer flips; bisection
// then narrows the two factors that bracket the flip. Each step is one run under the first seed. At factors
// below 1, the cheaper judged candidates that missed least are run too. Costs are linear in a price, so price
// flips are computed without runs, among the judged candidates that meet every target.
#pragma once

#include <string>
#include <vector>

#include "advise/search.h"
#include "workload/options.h"

namespace kvcap {

struct Flip {
  std::string what;      // "traffic", "prompts", "SSD price"
  double factor = 1;     // multiple at which the answer flips; if not found, the last one tried
  double holds = 1;      // last factor at which the answer holds; equals `factor` for a price
  bool is_found = true;  // false: the answer holds up to `factor`
  std::string reason;    // metric that the answer misses at `factor`, "unstable" or "stable"; else empty
  Changes better;        // the cheaper configuration that meets every target at `factor`; else empty
};

// Returns the nearest flip first, by |log factor|; flips that were not found come last. `arrivals`: those of
// the answer's scenario.
std::vector<Flip> find_flips(const Plan& plan, const PlanResult& result, const ArrivalOptions& arrivals,
                             Evaluator& evaluator);

// Returns the changes that multiply the traffic by `share`.
Changes traffic_changes(const ArrivalOptions& arrivals, double share);

// One part of a machine's cost.
struct PricedPart {
  const char* name;
  const char* metric;
};
inline constexpr PricedPart kPricedParts[] = {{"GPU", "cost.gpu_usd"},
                                              {"DRAM", "cost.dram_usd"},
                                              {"SSD", "cost.ssd_usd"},
                                              {"remote storage", "cost.remote_usd"}};

// Returns the part's contribution to the plan's objective, which is a cost: for one run, or the mean over a
// candidate's runs.
double part_of_objective(const Plan& plan, const RunResult& run, const PricedPart& part);
double part_of_objective(const Plan& plan, const Candidate& candidate, const PricedPart& part);

}  // namespace kvcap
