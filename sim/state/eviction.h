// Eviction: which of the keys in one tier leaves when room is needed. It sees keys, uses and what is told of
// them, never bytes or clocks. One file each, and a row in eviction_kind.h:
//
//   lru       least recently used first
//   lfu       least often used since it entered this tier, then least recently; counts do not age
//   fifo      in order of entry
//   s3_fifo   three queues: newcomers pass through a small one, what is used again moves to the main one,
//             what leaves unused is remembered and enters the main one when it comes back
//   sharded_lru   least recently used of one of 1,024 shards, in turn
//   next_use  the key whose next use is farthest away; before all others those without a known one, the least
//             recently used first. Told of the waiting queue it looks ahead (CachedAttention 3.3.2), told of
//             all that will come it is Belady's optimum
//   none      nothing leaves
//   score     lowest score first, then least recently used; nothing leaves for a newcomer of lower score
//
// A key is known by its slot, a small number that its owner chooses, so that records lie in arrays. A key
// that must stay for now is held: a search for a victim that meets it sets it aside, and release() puts it
// back at its place, so held keys cost one step each and not one a search. Every operation takes O(1) or
// O(log n), victim() amortised.
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

  // `slot`, which stands for `key`, enters: its first use.
  virtual void enter(Slot slot, Key key) = 0;
  // `evicted`: as victim() said, and not for another reason.
  virtual void leave(Slot slot, bool evicted) = 0;
  virtual void touch(Slot slot) = 0;
  // Its content grew: as recent as a use, but not one use more.
  virtual void renew(Slot slot) = 0;

  // What is told of a slot holds, in this tier or not, until told otherwise. Default: kNever and 0.
  virtual void expect(Slot, Order /*next_use*/) {}
  virtual void weigh(Slot, double /*score*/) {}

  // The next to leave among those not held, or kNoSlot. The same until something changes.
  virtual Slot victim() = 0;
  virtual void hold(Slot slot) = 0;
  virtual void release(Slot slot) = 0;

  // The victim leaves next, together with others that are chosen before it does.
  virtual void chosen(Slot) {}

  // Whether `victim` may leave for `newcomer`; `ahead`: which is brought before somebody asks for it.
  virtual bool yields(Slot /*victim*/, Slot /*newcomer*/, bool /*ahead*/) const { return true; }
};

}  // namespace kvcap
