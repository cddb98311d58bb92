// Finds how the answer of a plan performs under other traffic and with longer prompts, and where the answer
// flips. It flips at the change in traffic, prompt lengths or a price at which it misses a target or a
// cheaper configuration meets every target.
//
// The factor of traffic or prompt lengths moves step by step away from 1 until the answer flips; bisection
// then narrows the two factors that bracket the flip. Each step is one run under the first seed. At factors
// below 1, the cheaper judged candidates that missed the targets by least run, too. Costs are linear in a
// price, so price flips are computed without runs, among the judged candidates that meet every target.
#pragma once

#include <string>
#include <vector>

#include "advise/search.h"
#include "workload/options.h"

namespace kvcap {

// The answer under other traffic or with longer prompts.
struct Stress {
  std::string what;  // "traffic +20 %"
  const Candidate* candidate = nullptr;
};
// Judges the answer with 20 % less and more traffic and with prompts that are 20 and 50 % longer. `arrivals`:
// those of the answer's scenario.
std::vector<Stress> stress(const PlanResult& result, const ArrivalOptions& arrivals, Judge& judge);

struct Flip {
  std::string what;      // "traffic", "prompts", "SSD price"
  double factor = 1;     // multiple at which the answer flips; if not found, the last factor tried
  double holds = 1;      // last factor at which the answer holds; equals `factor` for a price
  bool is_found = true;  // false: the answer holds up to `factor`
  std::string reason;    // metric that the answer misses at `factor`, "unstable" or "stable"; otherwise empty
  Changes better;        // the cheaper configuration that meets every target at `factor`; otherwise empty
};
// Returns the flips, the nearest first by |log factor|; flips that were not found come last.
std::vector<Flip> find_flips(const Plan& plan, const PlanResult& result, const ArrivalOptions& arrivals,
                             Judge& judge);

}  // namespace kvcap
