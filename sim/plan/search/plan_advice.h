// What surrounds the answer of a plan: which target binds, what a little more of each resource brings, and
// what the answer survives.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/search/plan_search.h"

namespace kvcap {

// What one has more of. GPUs and SSDs are devices, storage is in TB, bandwidth in GB/s.
enum class ResourceUnit : uint8_t { none, gpu, ssd, terabyte, gigabyte_per_s };
std::string_view name(ResourceUnit unit);  // "GPU"; empty for none

// A little more of one resource. Differences are paired by seed.
struct Marginal {
  std::string what;  // "hardware.ssd.count 1 -> 2"
  const Candidate* candidate = nullptr;
  MeanInterval objective;  // change of what is minimized
  MeanInterval quality;    // change of kFrontMetric
  ResourceUnit unit = ResourceUnit::none;
  double units = 0;       // how many more there are
  bool has_price = true;  // false: a faster link, which nobody sells by itself
};

// One look each (plan_judge.h): next values of the numeric dimensions, more of the priced resources that the
// plan does not choose, and faster links; what cannot run is left out. Those first that gain most of
// kFrontMetric for what they cost, those without a price last.
std::vector<Marginal> marginal_values(const Plan& plan, const PlanResult& result, Judge& judge);

// The answer in another world.
struct Stress {
  std::string what;  // "traffic +20 %"
  const Candidate* candidate = nullptr;
  bool has_command = true;  // longer contexts are no field of a scenario
};
std::vector<Stress> stress(const Plan& plan, const PlanResult& result, Judge& judge);

// Prices that are 20 % off, where the objective is a cost.
struct PriceChange {
  std::string what;                 // "GPU price +20 %"
  double objective = 0;             // of the answer
  const Candidate* best = nullptr;  // of what has been judged and meets every target: the answer, or another
};
std::vector<PriceChange> price_changes(const Plan& plan, const PlanResult& result);

// one - other, over the seeds that both have run under.
MeanInterval paired_difference(const Candidate& one, const Candidate& other,
                               const std::function<double(const RunResult&)>& value);

// The target that the candidate has the least room to; null without targets.
const Target* binding_target(const Plan& plan, const Candidate& candidate);

}  // namespace kvcap
