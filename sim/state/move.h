// Moves: what the store wants carried from one tier to another, as one transfer of one or more contexts.
#pragma once

#include <cstdint>
#include <vector>

#include "base/tier.h"
#include "state/eviction.h"

namespace kvcap {

struct Moved {
  Key key = 0;
  int64_t tokens = 0;        // that move
  int64_t tokens_after = 0;  // of the context that are there when done
  // The store's own: which entry it is for, and how many tokens that had lost in front when it was issued.
  uint64_t generation = 0;
  Slot slot = kNoSlot;
  int64_t cut = 0;
};

// from == hbm: a save of what the GPU has just computed.
struct Move {
  Tier from = Tier::hbm;
  Tier to = Tier::dram;
  int64_t tokens = 0;  // of all items
  std::vector<Moved> items;
};

}  // namespace kvcap
