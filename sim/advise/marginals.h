// The marginal value of each resource: how cost and latency of the answer change with a little more of the
// resource.
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

// Judges the answer with the next value of each numeric dimension, with more of each priced resource that the
// plan does not search, and with faster links. Omits configurations that cannot run and changes without
// effect. Sorts by the gain in kFrontMetric per cost; entries without a price come last.
std::vector<Marginal> marginal_values(const Plan& plan, const PlanResult& result, Judge& judge);

// True iff the marginal has a price, lowers kFrontMetric with confidence and misses no target.
bool is_worth_buying(const Marginal& marginal);
// Returns the marginal that shows what to buy next, the first one that is worth buying; null if there is
// none.
const Marginal* next_to_buy(const std::vector<Marginal>& marginals);

}  // namespace kvcap
