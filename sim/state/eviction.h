// Eviction: chooses the key that leaves a tier when room is needed. It sees keys, uses and hints, but neither
// bytes nor clocks. eviction_kind.h lists the eviction orders; each is described in its own file.
//
// A key is identified by its slot, a small number that its owner chooses, so that records are stored in
// arrays. A victim search that reaches a held key sets it aside; the key is skipped until release() restores
// its position, so a held key costs one step in total, not one per search. Every operation takes O(1) or
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

  // Announces a key that will enter the tier if room can be made. Called before the victims for this key are
  // chosen.
  virtual void awaits(Key) {}
  // Adds the slot of `key` to the tier; this counts as its first use.
  virtual void enter(Slot slot, Key key) = 0;
  // Removes the slot. `evicted`: true if it leaves as the victim(), false for any other reason.
  virtual void leave(Slot slot, bool evicted) = 0;
  virtual void touch(Slot slot) = 0;
  // Notes that the content grew: updates recency, but does not count as a use.
  virtual void renew(Slot slot) = 0;

  // Set hints for a slot, which need not be in this tier. A hint is valid until it is replaced. Defaults:
  // kNever and 0.
  virtual void expect(Slot, Order /*next_use*/) {}
  virtual void weigh(Slot, double /*score*/) {}

  // Returns the next victim among the slots that are not held, or kNoSlot. Repeated calls return the same
  // slot until the slots, holds or hints change.
  virtual Slot victim() = 0;
  virtual void hold(Slot slot) = 0;
  virtual void release(Slot slot) = 0;

  // Notes that `slot` will be evicted, perhaps only after further victims have been chosen.
  virtual void chosen(Slot) {}

  // True iff `victim` may be evicted for `newcomer`; `ahead`: the newcomer is prefetched.
  virtual bool yields(Slot /*victim*/, Slot /*newcomer*/, bool /*ahead*/) const { return true; }
};

}  // namespace kvcap
