// Eviction: which of the keys in one tier leaves when room is needed. It sees keys, uses and what is told of
// them, never bytes or clocks. eviction_kind.h lists the orders; the file of each describes it.
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

  // A key that is not here enters if room can be made: told before victims for it are chosen.
  virtual void awaits(Key) {}
  // `slot`, which stands for `key`, enters: its first use.
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
