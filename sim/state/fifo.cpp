// First in, first out: evicts keys in the order in which they entered; uses do not matter.
#include "state/orders.h"

namespace kvcap {
namespace {

class Fifo : public SetAside {
 public:
  void enter(Slot slot, Key) override {
    enters(slot);
    queue_.insert(slot, ++entries_);
  }
  void leave(Slot slot, bool) override {
    take(queue_, slot);
    leaves(slot);
  }
  void touch(Slot) override {}
  void renew(Slot) override {}
  Slot victim() override { return first_free(queue_); }

 private:
  void put_back(Slot slot) override { queue_.insert(slot, queue_.serial(slot)); }

  SlotQueue queue_;
  uint64_t entries_ = 0;
};

}  // namespace

std::unique_ptr<Eviction> make_fifo() { return std::make_unique<Fifo>(); }

}  // namespace kvcap
