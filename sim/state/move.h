// Move: a transfer between two tiers, requested by the store, with parts of one or more contexts.
#pragma once

#include <cstdint>
#include <vector>

#include "base/tier.h"
#include "state/eviction.h"

namespace kvcap {

struct Moved {
  Key key = 0;
  int64_t tokens = 0;        // moved tokens
  int64_t tokens_after = 0;  // tokens of the context that have arrived when the move is done
  // For the store only: the target entry, and how many tokens it had lost at its front when the move was
  // issued.
  uint64_t generation = 0;
  Slot slot = kNoSlot;
  int64_t cut = 0;
};

// A transfer. from == hbm: a save of state that the GPU has just computed.
struct Move {
  Tier from = Tier::hbm;
  Tier to = Tier::dram;
  int64_t tokens = 0;  // sum over items
  std::vector<Moved> items;
};

}  // namespace kvcap
