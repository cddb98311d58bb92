// S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023, algorithm 1). A
// newcomer enters the small queue, or the main queue if the ghost queue remembers it. While the small queue
// holds at least a tenth of the keys, its oldest key is examined: if it was used more than once since its
// entry, it moves to the main queue with its count cleared, otherwise it is evicted and remembered. Otherwise
// the oldest key of the main queue is examined: if unused, it is evicted, else it is reinserted with one use
// fewer. Counts saturate at 3.
//
// Sizes count keys, not bytes, and include held keys: if n keys are in the tier, the small queue's share is n
// / 10, and the ghost queue remembers the last 9 n / 10 keys evicted from the small queue. The share is
// compared at every step, whereas the paper stays in the small queue until one key is evicted.
#include <deque>

#include "state/orders.h"

namespace kvcap {
namespace {

// The most recently evicted keys, up to a variable limit.
class Ghost {
 public:
  void remember(Key key, std::size_t limit) {
    order_.push_back(key);
    serials_.set(key, ++last_);
    while (order_.size() > limit) {
      // A key that was evicted again is remembered under its newer eviction number.
      if (serials_.find(order_.front()) == last_ - order_.size() + 1) serials_.erase(order_.front());
      order_.pop_front();
    }
  }
  // Returns true iff the key was remembered, and forgets it.
  bool forget(Key key) {
    const bool known = serials_.find(key) != 0;
    if (known) serials_.erase(key);
    return known;
  }

 private:
  std::deque<Key> order_;
  KeyMap<uint64_t, 0> serials_;  // eviction number of each remembered key
  uint64_t last_ = 0;
};

class S3Fifo : public SetAside {
 public:
  void enter(Slot slot, Key key) override {
    enters(slot);
    const bool known = ghost_.forget(key);
    records_[slot] = {.key = key, .in_main = known};
    ++(known ? main_keys_ : small_keys_);
    queue(slot).insert(slot, ++entries_);
  }
  void leave(Slot slot, bool evicted) override {
    take(queue(slot), slot);
    leaves(slot);
    const Record& record = records_[slot];
    if (evicted && !record.in_main) ghost_.remember(record.key, (small_keys_ + main_keys_) * 9 / 10);
    --(record.in_main ? main_keys_ : small_keys_);
  }
  void touch(Slot slot) override {
    uint8_t& uses = records_[slot].uses;
    if (uses < kMostUses) ++uses;
  }
  void renew(Slot) override {}

  Slot victim() override {
    for (;;) {
      const Slot from_small = first_free(small_);
      const Slot from_main = first_free(main_);
      const bool small_is_full = 10 * small_keys_ >= small_keys_ + main_keys_;
      if (from_small != kNoSlot && (small_is_full || from_main == kNoSlot)) {
        Record& record = records_[from_small];
        if (record.uses <= 1) return from_small;
        record.uses = 0;
        record.in_main = true;
        --small_keys_;
        ++main_keys_;
        small_.erase(from_small);
        main_.insert(from_small, ++entries_);
      } else {
        if (from_main == kNoSlot || records_[from_main].uses == 0) return from_main;
        --records_[from_main].uses;
        main_.erase(from_main);
        main_.insert(from_main, ++entries_);
      }
    }
  }

 private:
  static constexpr uint8_t kMostUses = 3;
  struct Record {
    Key key = 0;
    uint8_t uses = 0;  // since its entry into the queue
    bool in_main = false;
  };

  SlotQueue& queue(Slot slot) { return records_[slot].in_main ? main_ : small_; }
  void put_back(Slot slot) override { queue(slot).insert(slot, queue(slot).serial(slot)); }

  SlotQueue small_, main_;
  std::size_t small_keys_ = 0, main_keys_ = 0;
  Ghost ghost_;
  PerSlot<Record> records_;
  uint64_t entries_ = 0;
};

}  // namespace

std::unique_ptr<Eviction> make_s3_fifo() { return std::make_unique<S3Fifo>(); }

}  // namespace kvcap
