// Eviction: the order in which the keys of one tier are evicted. It sees keys, uses and hints, not bytes or
// clocks. Each order has its own file and a row in eviction_kind.h:
//
//   lru       least recently used first
//   lfu       fewest uses since entering this tier first, then least recently used; counts do not age
//   fifo      in order of entry
//   s3_fifo   three queues: new keys pass through a small one, reused keys move to the main one, keys evicted
//             without reuse are remembered and re-enter in the main one
//   sharded_lru   least recently used of one of 1,024 shards, in turn
//   next_use  keys without a known next use first, least recently used first; then the farthest next use.
//             Hints about the waiting queue make it look ahead (CachedAttention 3.3.2); hints about all uses
//             make it Belady's optimum
//   none      nothing is evicted
//   score     lowest score first, then least recently used; no eviction for a newcomer with a lower score
//
// A key is identified by its slot, a small number that its owner chooses, so that records are stored in
// arrays. The victim search sets a held key aside and skips it until release() restores its position, so a
// held key costs one step and not one per search. Every operation takes O(1) or O(log n), victim() amortised.
#pragma once

#include <cstdint>
#include <limits>

#include "base/key_map.h"
#include "state/eviction_kind.h"

namespace kvcap {

using Order = double;  // grows with time
inline constexpr Order kNever = std::numeric_limits<double>::infinity();

using Slot = uint32_t;
inline constexpr Slot kNoSlot = std::numeric_limits<Slot>::max();

class Eviction {
 public:
  virtual ~Eviction() = default;

  // Adds `slot`, which represents `key`; counts as its first use.
  virtual void enter(Slot slot, Key key) = 0;
  // Removes the slot. `evicted`: as the victim(), not for another reason.
  virtual void leave(Slot slot, bool evicted) = 0;
  virtual void touch(Slot slot) = 0;
  // Notes that the content grew: updates recency, but does not count as a use.
  virtual void renew(Slot slot) = 0;

  // Hints apply to a slot, also outside of this tier, until replaced. Default: kNever and 0.
  virtual void expect(Slot, Order /*next_use*/) {}
  virtual void weigh(Slot, double /*score*/) {}

  // Returns the next victim among the slots that are not held, or kNoSlot. Stable until something changes.
  virtual Slot victim() = 0;
  virtual void hold(Slot slot) = 0;
  virtual void release(Slot slot) = 0;

  // Notes that `slot` will be evicted, possibly after the choice of further victims.
  virtual void chosen(Slot) {}

  // True iff `victim` may be evicted for `newcomer`; `ahead`: the newcomer is prefetched.
  virtual bool yields(Slot /*victim*/, Slot /*newcomer*/, bool /*ahead*/) const { return true; }
};

}  // namespace kvcap
