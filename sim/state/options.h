// Options of one tier of the store, as given in a scenario.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/names.h"
#include "base/tier.h"
#include "state/eviction_kind.h"

namespace kvcap {

// When state is written to the tiers below the first. back: on eviction. through: on every save. eager: a
// save to DRAM is also written to the tier below at once, as long as that tier has room for everything in
// DRAM; other state is written on eviction (eager write-back: Lee, Tyson, Farrens, MICRO 2000).
enum class WriteMode : uint8_t { back, through, eager };
inline constexpr std::string_view kWriteModeNames[] = {"back", "through", "eager"};
constexpr Names names_of(WriteMode) { return kWriteModeNames; }

struct TierOptions {
  Tier kind = Tier::ssd;
  // At most one of these three is set; if none is, the tier has the profile's whole capacity.
  std::optional<double> capacity_bytes;
  std::optional<double> capacity_per_gpu_bytes;  // per GPU of the engine (LMCache: per worker)
  std::optional<double> capacity_over_gpu;       // multiple of the engine's KV capacity (HiCache's ratio)
  std::optional<EvictionKind> eviction;          // absent: the policy's, else lru
  double free_fraction = 0;                      // share that background evictions keep free: 0 <= f < 1
  // If more than this share of the capacity is full, evict_share of it is evicted at once; absent: evictions
  // only make room.
  std::optional<double> evict_at;
  double evict_share = 0.05;
  double lease_s = 0;  // contexts are not evicted for this time after a read
  // Contexts that several sessions share stay for this time after a use, as long as another context can be
  // evicted.
  double soft_pin_s = 0;
  int64_t after_uses = 1;  // a context enters this tier from a nearer one after this many uses
  int64_t replicas = 1;    // copies of stored state
  bool exclusive = false;  // hbm only: contexts here take no room in the first host tier
};

// Returns the options of a Mooncake Store below the other tiers: approximate LRU (sharded_lru.cpp), 5 %
// evicted at 90 %, a lease of 10 s after a read (docs/source/design/store/mooncake-store.md@3b5a594). Its
// clients may request soft pins of 30 min after a use; here there are none unless soft_pin_s is set.
constexpr TierOptions mooncake_store() {
  return {.kind = Tier::remote,
          .eviction = EvictionKind::sharded_lru,
          .evict_at = 0.9,
          .evict_share = 0.05,
          .lease_s = 10};
}

// Allowed values of a tier's `kind`.
inline constexpr auto kTierKindNames = [] {
  std::array<std::string_view, kTierCount + 1> names;
  std::copy(kTierNames.begin(), kTierNames.end(), names.begin());
  names.back() = "mooncake_store";
  return names;
}();

}  // namespace kvcap
