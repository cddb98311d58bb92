// One tier of the store as a scenario describes it.
#pragma once

#include <optional>

#include "base/tier.h"
#include "state/eviction_kind.h"

namespace kvcap {

struct TierOptions {
  Tier kind = Tier::ssd;
  std::optional<double> capacity_bytes;  // absent: all that the profile has
  std::optional<EvictionKind> eviction;  // absent: the policy's, else lru
  double free_fraction = 0;              // share that evictions in the background keep free, 0 <= f < 1
  bool exclusive = false;                // hbm: what lies here takes no room in the first host tier
};

}  // namespace kvcap
