// Eviction: which of the keys in one tier leaves when room is needed. It sees keys, uses and what is told of
// them, never bytes or clocks. eviction_kind.h lists the orders; the file of each describes it.
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

  // A key that is not here enters if room can be made: told before victims for it are chosen.
  virtual void awaits(Key) {}
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
