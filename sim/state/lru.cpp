// Least recently used: evicts the first key of a queue; a use moves a key to the end of the queue.
#include "state/orders.h"

namespace kvcap {
namespace {

class Lru : public SetAside {
 public:
  void enter(Slot slot, Key) override {
    enters(slot);
    queue_.insert(slot, ++uses_);
  }
  void leave(Slot slot, bool) override {
    take(queue_, slot);
    leaves(slot);
  }
  void touch(Slot slot) override {
    take(queue_, slot);
    queue_.insert(slot, ++uses_);
  }
  void renew(Slot slot) override { touch(slot); }
  Slot victim() override { return first_free(queue_); }

 private:
  void put_back(Slot slot) override { queue_.insert(slot, queue_.serial(slot)); }

  SlotQueue queue_;
  uint64_t uses_ = 0;
};

}  // namespace

std::unique_ptr<Eviction> make_lru() { return std::make_unique<Lru>(); }

}  // namespace kvcap
