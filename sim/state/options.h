// One tier of the store as a scenario describes it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/tier.h"

namespace kvcap {

// What leaves a tier first; eviction.h says how each decides.
// belady is next_use that knows the workload: a bound.
enum class EvictionKind : uint8_t { lru, lfu, fifo, s3_fifo, next_use, score, belady };

struct TierOptions {
  Tier kind = Tier::ssd;
  std::optional<double> capacity_bytes;  // absent: all that the profile has
  std::optional<EvictionKind> eviction;  // absent: the policy's, else lru
  double free_fraction = 0;              // share that evictions in the background keep free, 0 <= f < 1
  bool exclusive = false;                // hbm: what lies here takes no room in the first host tier
};

}  // namespace kvcap
