// Eviction: which of the keys in one tier leaves when room is needed. It sees keys, uses and hints, never
// bytes or clocks. eviction_kind.h lists the orders; the file of each describes it.
//
// A key is identified by its slot, a small number that its owner chooses, so that records are stored in
// arrays. When the victim search meets a held key it sets the key aside and skips it until release() restores
// its position, so a held key costs one step and not one per search. Every operation takes O(1) or O(log n),
// victim() amortised.
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

  // A key that is not in the tier will enter if room can be made. Called before victims for it are chosen.
  virtual void awaits(Key) {}
  // The slot, which stands for `key`, enters the tier; this is its first use.
  virtual void enter(Slot slot, Key key) = 0;
  // Removes the slot. `evicted`: true if it leaves as the victim(), false for any other reason.
  virtual void leave(Slot slot, bool evicted) = 0;
  virtual void touch(Slot slot) = 0;
  // Notes that the content grew: updates recency, but does not count as a use.
  virtual void renew(Slot slot) = 0;

  // Hints for a slot, even outside this tier; valid until replaced. Defaults: kNever and 0.
  virtual void expect(Slot, Order /*next_use*/) {}
  virtual void weigh(Slot, double /*score*/) {}

  // Returns the next victim among the slots that are not held, or kNoSlot. The answer stays the same until
  // something changes.
  virtual Slot victim() = 0;
  virtual void hold(Slot slot) = 0;
  virtual void release(Slot slot) = 0;

  // Notes that `slot` will be evicted, perhaps only after further victims have been chosen.
  virtual void chosen(Slot) {}

  // True iff `victim` may be evicted for `newcomer`; `ahead`: the newcomer is prefetched.
  virtual bool yields(Slot /*victim*/, Slot /*newcomer*/, bool /*ahead*/) const { return true; }
};

}  // namespace kvcap
