// Lowest score first: evicts the key with the lowest given score; among equals, the least recently used key.
// The score is the access frequency times the mean share of important tokens (HyperInfer, "Score-Based Cache
// Management"). A newcomer displaces only keys whose score does not exceed its own.
#include "state/orders.h"

namespace kvcap {
namespace {

class Score : public SetAside {
 public:
  void enter(Slot slot, Key) override {
    enters(slot);
    touch(slot);
  }
  void leave(Slot slot, bool) override {
    take(heap_, slot);
    leaves(slot);
  }
  void touch(Slot slot) override {
    ranks_[slot].serial = ++uses_;
    rank(slot);
  }
  void renew(Slot slot) override { touch(slot); }
  void weigh(Slot slot, double score) override {
    ranks_[slot].value = score;
    if (present(slot)) rank(slot);
  }
  Slot victim() override { return first_free(heap_); }
  bool yields(Slot victim, Slot newcomer, bool) const override {
    return ranks_.get(victim).value <= ranks_.get(newcomer).value;
  }

 private:
  void put_back(Slot slot) override { heap_.insert(slot, ranks_[slot]); }
  void rank(Slot slot) {
    if (!aside(slot)) heap_.insert(slot, ranks_[slot]);
  }

  SlotHeap heap_;
  PerSlot<Rank> ranks_;
  uint64_t uses_ = 0;
};

}  // namespace

std::unique_ptr<Eviction> make_score() { return std::make_unique<Score>(); }

}  // namespace kvcap
