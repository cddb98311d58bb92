// Building blocks of eviction orders: slots, ordered containers of slots, and the handling of held slots.
//
//   KeySlots   assigns slots to keys
//   SlotHeap   ordered by a rank; O(log n)
//   SlotQueue  ordered by serial number; O(1) to append and to remove, O(log n) to reinsert in the middle
//   SetAside   base class of eviction policies that remove held slots from their order lazily
#pragma once

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "state/eviction.h"

namespace kvcap {

// Gives each key a slot; the slot of an erased key is reused.
class KeySlots {
 public:
  std::size_t size() const { return slots_.size(); }
  // Returns the key's slot, or kNoSlot if it has none.
  Slot find(Key key) const { return slots_.find(key); }
  // REQUIRES: the key has no slot.
  Slot add(Key key) {
    const Slot slot = free_.empty() ? static_cast<Slot>(slots_.size()) : free_.back();
    if (!free_.empty()) free_.pop_back();
    slots_.set(key, slot);
    return slot;
  }
  void erase(Key key) {
    free_.push_back(slots_.find(key));
    slots_.erase(key);
  }

 private:
  KeyMap<Slot, kNoSlot> slots_;
  std::vector<Slot> free_;
};

// Array of records by slot that grows on access.
template <class Record>
class PerSlot {
 public:
  Record& operator[](Slot slot) {
    if (slot >= records_.size()) {
      records_.resize(std::max<std::size_t>({slot + std::size_t{1}, 2 * records_.size(), 64}));
    }
    return records_[slot];
  }
  // REQUIRES: the slot has been accessed.
  const Record& at(Slot slot) const { return records_[slot]; }
  // Returns the record of the slot, or a default record if it has none.
  Record get(Slot slot) const { return slot < records_.size() ? records_[slot] : Record{}; }

 private:
  std::vector<Record> records_;
};

struct Rank {
  double value = 0;
  uint64_t serial = 0;
  bool operator<(const Rank& other) const {
    return value != other.value ? value < other.value : serial < other.serial;
  }
};

// Heap with the least rank first.
class SlotHeap {
 public:
  Slot first() const { return nodes_.empty() ? kNoSlot : nodes_.front().slot; }
  const Rank& first_rank() const { return nodes_.front().rank; }
  bool contains(Slot slot) const { return place_.get(slot).at != kNoSlot; }
  // Adds the slot or changes its rank.
  void insert(Slot slot, Rank rank);
  void erase(Slot slot);

 private:
  struct Node {
    Rank rank;
    Slot slot = kNoSlot;
  };
  struct Place {
    uint32_t at = kNoSlot;
  };

  void settle(std::size_t at, const Node& node);

  std::vector<Node> nodes_;  // the children of i are 4 i + 1 to 4 i + 4
  PerSlot<Place> place_;
};

// Queue with the least serial number first.
class SlotQueue {
 public:
  Slot first() const;
  void insert(Slot slot, uint64_t serial);
  void erase(Slot slot);
  // Returns the last serial number of the slot, also after its removal.
  uint64_t serial(Slot slot) const { return links_.get(slot).serial; }

 private:
  struct Link {
    Slot before = kNoSlot, after = kNoSlot;
    uint64_t serial = 0;
  };

  PerSlot<Link> links_;
  Slot front_ = kNoSlot, back_ = kNoSlot;
  SlotHeap returned_;  // slots reinserted with a serial number below that of the back
};

// Base class of eviction policies that remove held slots lazily: a held slot leaves the order only when a
// victim search reaches it, and returns to its position when it is released.
class SetAside : public Eviction {
 public:
  void hold(Slot slot) final { state_[slot].held = true; }
  void release(Slot slot) override {
    State& state = state_[slot];
    state.held = false;
    if (!state.aside) return;
    state.aside = false;
    put_back(slot);
  }

 protected:
  // Reinserts the slot at its position in its order.
  virtual void put_back(Slot slot) = 0;

  // Returns the first slot of `order` that is not held, and sets the held ones before it aside.
  template <class SomeOrder>
  Slot first_free(SomeOrder& order) {
    for (;;) {
      const Slot slot = order.first();
      if (slot == kNoSlot || !state_[slot].held) return slot;
      order.erase(slot);
      state_[slot].aside = true;
    }
  }
  // Removes the slot from `order` unless it was set aside.
  template <class SomeOrder>
  void take(SomeOrder& order, Slot slot) {
    if (state_[slot].aside) {
      state_[slot].aside = false;
    } else {
      order.erase(slot);
    }
  }
  bool aside(Slot slot) const { return state_.get(slot).aside; }
  void enters(Slot slot) {
    KVCAP_CHECK(!state_[slot].present);
    state_[slot] = {.present = true};
  }
  void leaves(Slot slot) {
    KVCAP_CHECK(state_[slot].present && !state_[slot].aside);
    state_[slot] = {};
  }
  bool present(Slot slot) const { return state_.get(slot).present; }

 private:
  struct State {
    bool present = false;
    bool held = false;
    bool aside = false;  // held and outside of its order
  };
  PerSlot<State> state_;
};

}  // namespace kvcap
