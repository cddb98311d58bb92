// One tier of the store as a scenario describes it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/tier.h"

namespace kvcap {

enum class EvictionKind : uint8_t { lru, fifo };

struct TierOptions {
  Tier kind = Tier::ssd;
  std::optional<double> capacity_bytes;  // absent: all that the profile has
  EvictionKind eviction = EvictionKind::lru;
};

}  // namespace kvcap
