// One tier of the store as a scenario describes it.
#pragma once

#include <optional>

#include "base/text/names.h"
#include "base/tier.h"
#include "state/eviction_kind.h"

namespace kvcap {

// When state reaches the tiers below the first: when it is evicted from there; as soon as it is saved; or
// what is saved to DRAM as soon as it is saved, while the tier below has room for all of DRAM besides, and
// the rest when it is evicted (eager write-back: Lee, Tyson, Farrens, MICRO 2000).
enum class WriteMode : uint8_t { back, through, eager };
inline constexpr std::string_view kWriteModeNames[] = {"back", "through", "eager"};
constexpr Names names_of(WriteMode) { return kWriteModeNames; }

struct TierOptions {
  Tier kind = Tier::ssd;
  // At most one of these; none: all that the profile has.
  std::optional<double> capacity_bytes;
  std::optional<double> capacity_per_gpu_bytes;  // of each GPU of the engine (LMCache: each worker)
  std::optional<double> capacity_over_gpu;       // times what the engine's KV blocks hold (HiCache's ratio)
  std::optional<EvictionKind> eviction;          // absent: the policy's, else lru
  double free_fraction = 0;  // share that evictions in the background keep free, 0 <= f < 1
  // Beyond this share of the capacity evict_share of it leaves at once; absent: what leaves makes room.
  std::optional<double> evict_at;
  double evict_share = 0.05;
  double lease_s = 0;  // what was read so shortly ago does not leave
  // What several sessions share stays so long after its last use, if something else can leave.
  double soft_pin_s = 0;
  int64_t after_uses = 1;  // of a context before it enters this tier from a nearer one
  int64_t replicas = 1;    // copies of what is stored here
  bool exclusive = false;  // hbm: what lies here takes no room in the first host tier
};

// Mooncake Store behind the other tiers: approximately least recently used first (sharded_lru.cpp), 5 % at
// 90 %; a lease of 10 s after a read (docs/source/design/store/mooncake-store.md@3b5a594). Its soft pins,
// which last 30 min after a use, are a wish of the client that writes: none unless soft_pin_s says so.
constexpr TierOptions mooncake_store() {
  return {.kind = Tier::remote,
          .eviction = EvictionKind::sharded_lru,
          .evict_at = 0.9,
          .evict_share = 0.05,
          .lease_s = 10};
}

}  // namespace kvcap
