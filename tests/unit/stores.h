// Tiers of a store with ten bytes a token, and what tests ask of it.
#pragma once

#include <vector>

#include "state/store.h"

namespace kvcap {

inline StoreTier tier(Tier kind, double capacity_bytes, EvictionKind eviction = EvictionKind::lru) {
  return {.kind = kind, .capacity_bytes = capacity_bytes, .eviction = eviction, .bytes_per_token = 10};
}

inline void finish(Store& store, const std::vector<Move>& moves) {
  for (const Move& move : moves) store.done(move);
}

inline int64_t visible(const Store& store, Key key) {
  const std::optional<Hit> hit = store.find(key);
  return hit ? hit->tokens : 0;
}

inline StoreTier exclusive(double capacity_bytes, EvictionKind eviction = EvictionKind::lru) {
  StoreTier front = tier(Tier::hbm, capacity_bytes, eviction);
  front.exclusive = true;
  return front;
}

}  // namespace kvcap
