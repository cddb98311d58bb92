// Random small plans: what kvcap plan finds beside exhaustive search, which runs every configuration on 20
// times the sessions under other seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace kvcap::soak {

// Number N is always the same plan file, of 6 to 36 configurations: machines, policies, tiers and their
// sizes, a rate and targets.
std::string plan_json(uint64_t number);

// Exhaustive search says of each configuration: misses, where a run is saturated or a target lies outside of
// the 95 % interval of its metric over six seeds, on the wrong side; meets, where all are inside their bounds
// with their intervals; else unclear. Its winner is the cheapest that meets.
//
// same: neither finds one, or the winner of the plan meets and costs as much as that of exhaustive search, to
// 1e-9. not_told_apart: they differ, but the plan's winner is unclear and no dearer, or the plan names
// a configuration as cheap as the other winner as one that it cannot tell apart or judge. different: the
// rest.
enum class Agreement : uint8_t { same, not_told_apart, different };
const char* name(Agreement agreement);

struct PlanOutcome {
  uint64_t number = 0;
  int64_t configurations = 0;
  int64_t simulations = 0;           // of the plan
  int64_t verified = 0, wrong = 0;   // verdicts that others implied
  double found_usd_per_hour = 0;     // NaN: none
  double least_usd_per_hour = 0;     // by exhaustive search; NaN: none
  int64_t meeting = 0, unclear = 0;  // configurations, to exhaustive search
  Agreement agreement = Agreement::same;
  std::string what;  // where they differ: how
};
PlanOutcome compare_with_exhaustive(uint64_t number);

}  // namespace kvcap::soak
