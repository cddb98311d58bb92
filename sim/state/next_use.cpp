// Farthest next use first: evicts the key whose next use is farthest away. Keys whose next use is unknown are
// in a separate queue, least recently used first, and are evicted before all others (CachedAttention 3.3.2;
// Belady 1966).
#include "state/orders.h"

namespace kvcap {
namespace {

class NextUse : public SetAside {
 public:
  void enter(Slot slot, Key) override {
    enters(slot);
    records_[slot].serial = ++uses_;
    put_back(slot);
  }
  void leave(Slot slot, bool) override {
    take_out(slot);
    leaves(slot);
  }
  void touch(Slot slot) override { change(slot, {.next_use = records_[slot].next_use, .serial = ++uses_}); }
  void renew(Slot slot) override { touch(slot); }
  void expect(Slot slot, Order next_use) override {
    change(slot, {.next_use = next_use, .serial = records_[slot].serial});
  }
  Slot victim() override {
    const Slot unknown = first_free(unknown_);
    return unknown != kNoSlot ? unknown : first_free(known_);
  }
  // A prefetched key evicts only keys with a later next use; otherwise parts of one prompt would keep
  // evicting each other.
  bool yields(Slot victim, Slot newcomer, bool ahead) const override {
    const Record& other = records_.get(victim);
    return !ahead || !other.known() || other.next_use > records_.get(newcomer).next_use;
  }

 private:
  struct Record {
    Order next_use = kNever;
    uint64_t serial = 0;
    bool known() const { return next_use != kNever; }
  };

  void change(Slot slot, const Record& record) {
    // Changing the rank in the heap takes one step; all other changes remove and reinsert the slot.
    const bool out_and_in = present(slot) && !(records_[slot].known() && record.known());
    if (out_and_in) take_out(slot);
    records_[slot] = record;
    if (out_and_in || (present(slot) && !aside(slot))) put_back(slot);
  }
  void put_back(Slot slot) override {
    const Record& record = records_[slot];
    if (record.known()) {
      known_.insert(slot, {.value = -record.next_use, .serial = record.serial});
    } else {
      unknown_.insert(slot, record.serial);
    }
  }
  void take_out(Slot slot) {
    if (records_[slot].known()) {
      take(known_, slot);
    } else {
      take(unknown_, slot);
    }
  }

  SlotQueue unknown_;
  SlotHeap known_;
  PerSlot<Record> records_;
  uint64_t uses_ = 0;
};

}  // namespace

std::unique_ptr<Eviction> make_next_use() { return std::make_unique<NextUse>(); }

}  // namespace kvcap
