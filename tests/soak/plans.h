// Compares `kvcap plan` on small random plans with exhaustive search, which runs every configuration on 20
// times the sessions with other seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace kvcap::soak {

// Returns plan file `number`, deterministically. It has 6 to 36 configurations: machines, policies, tiers and
// their sizes, a rate and targets.
std::string plan_json(uint64_t number);

// Exhaustive search puts each configuration into one class. misses: a run is saturated or refuses or
// truncates turns, or a target is on the wrong side of the 95 % interval of its metric over six seeds. meets:
// every run is stable and every interval meets its target. unclear: the rest. Its winner is the cheapest that
// meets.
//
// Agreement of the plan with exhaustive search. same: both find no winner, or the plan's winner meets and
// costs the same as the other winner, to 1e-9. not_told_apart: the winners differ, but the plan's winner is
// unclear and not more expensive, or the plan lists a configuration as cheap as the other winner as undecided
// or not judged. different: the rest.
enum class Agreement : uint8_t { same, not_told_apart, different };
const char* name(Agreement agreement);

struct PlanOutcome {
  uint64_t number = 0;
  int64_t configurations = 0;
  int64_t simulations = 0;           // simulations that the plan ran
  int64_t verified = 0, wrong = 0;   // verdicts implied by other verdicts
  double found_usd_per_hour = 0;     // NaN: none
  double least_usd_per_hour = 0;     // by exhaustive search; NaN: none
  int64_t meeting = 0, unclear = 0;  // configurations, by exhaustive search
  Agreement agreement = Agreement::same;
  std::string what;  // description of the difference, if any
};
PlanOutcome compare_with_exhaustive(uint64_t number);

}  // namespace kvcap::soak
