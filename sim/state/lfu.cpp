// Least frequently used: evicts the key with the fewest uses; among equals, the least recently used key.
// Counting starts when a key enters the tier, which counts as its first use. Counts do not age, so a formerly
// popular key stays until all others have been used as often.
#include "state/orders.h"

namespace kvcap {
namespace {

class Lfu : public SetAside {
 public:
  void enter(Slot slot, Key) override {
    enters(slot);
    use(slot, 1);
  }
  void leave(Slot slot, bool) override {
    take(heap_, slot);
    leaves(slot);
  }
  void touch(Slot slot) override { use(slot, ranks_[slot].value + 1); }
  void renew(Slot slot) override { use(slot, ranks_[slot].value); }
  Slot victim() override { return first_free(heap_); }

 private:
  void put_back(Slot slot) override { heap_.insert(slot, ranks_[slot]); }
  void use(Slot slot, double count) {
    ranks_[slot] = {.value = count, .serial = ++uses_};
    if (!aside(slot)) heap_.insert(slot, ranks_[slot]);
  }

  SlotHeap heap_;
  PerSlot<Rank> ranks_;
  uint64_t uses_ = 0;
};

}  // namespace

std::unique_ptr<Eviction> make_lfu() { return std::make_unique<Lfu>(); }

}  // namespace kvcap
