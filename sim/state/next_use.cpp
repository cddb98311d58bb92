// Farthest next use first. Keys without a known next use stand in a queue of their own, least recently used
// first, and leave before all others (CachedAttention 3.3.2; Belady 1966).
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
  void touch(Slot slot) override {
    take_out(slot);
    records_[slot].serial = ++uses_;
    put_back(slot);
  }
  void renew(Slot slot) override { touch(slot); }
  void expect(Slot slot, Order next_use) override {
    if (!present(slot)) {
      records_[slot].next_use = next_use;
      return;
    }
    take_out(slot);
    records_[slot].next_use = next_use;
    put_back(slot);
  }
  Slot victim() override {
    const Slot unknown = first_free(unknown_);
    return unknown != kNoSlot ? unknown : first_free(known_);
  }
  // What is brought ahead of its use displaces nothing that is needed sooner.
  bool yields(Slot victim, Slot newcomer, bool ahead) const override {
    return !ahead || records_.get(victim).next_use >= records_.get(newcomer).next_use;
  }

 private:
  struct Record {
    Order next_use = kNever;
    uint64_t serial = 0;
  };

  void put_back(Slot slot) override {
    const Record& record = records_[slot];
    if (record.next_use == kNever) {
      unknown_.insert(slot, record.serial);
    } else {
      known_.insert(slot, {.value = -record.next_use, .serial = record.serial});
    }
  }
  void take_out(Slot slot) {
    if (records_[slot].next_use == kNever) {
      take(unknown_, slot);
    } else {
      take(known_, slot);
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
