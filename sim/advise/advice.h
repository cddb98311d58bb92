// Computes the advice that a plan report adds to the answer: the tightest target, the marginal value of each
// resource, and how the answer fares under other traffic and prices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "advise/search.h"

namespace kvcap {

// Units of added resources: devices for GPUs and SSDs, TB for storage, GB/s for bandwidth.
enum class ResourceUnit : uint8_t { none, gpu, ssd, terabyte, gigabyte_per_s };
std::string_view name(ResourceUnit unit);  // "GPU"; empty for none

// The effect of more of one resource. Differences are paired by seed.
struct Marginal {
  std::string what;  // "hardware.ssd.count 1 -> 2"
  const Candidate* candidate = nullptr;
  MeanInterval objective;  // change of the minimized metric
  MeanInterval quality;    // change of kFrontMetric
  ResourceUnit unit = ResourceUnit::none;
  double units = 0;       // added amount
  bool has_price = true;  // false: a faster link, which is not sold separately
};

// Judges, with one look each (judge.h), the answer with the next value of each numeric dimension, with
// more of each priced resource that the plan does not search, and with faster links. Omits configurations
// that cannot run and changes without effect. Sorts by the gain in kFrontMetric per cost; entries without a
// price come last.
std::vector<Marginal> marginal_values(const Plan& plan, const PlanResult& result, Judge& judge);

// Returns the marginal that says what to buy next: the first one with a price that surely lowers kFrontMetric
// and misses no target; null: none does.
const Marginal* next_to_buy(const std::vector<Marginal>& marginals);

// The answer under other traffic or longer prompts.
struct Stress {
  std::string what;  // "traffic +20 %"
  const Candidate* candidate = nullptr;
  bool has_command = true;  // false for longer prompts, which no field of a scenario sets
};
std::vector<Stress> stress(const Plan& plan, const PlanResult& result, Judge& judge);

// The effect of a price that changes by 20 %. Computed only if the objective is a cost.
struct PriceChange {
  std::string what;                 // "GPU price +20 %"
  double objective = 0;             // objective of the answer
  const Candidate* best = nullptr;  // cheapest judged configuration that meets every target
};
std::vector<PriceChange> price_changes(const Plan& plan, const PlanResult& result);

// Returns the target with the least slack; null without targets.
const Target* binding_target(const Plan& plan, const Candidate& candidate);

}  // namespace kvcap
