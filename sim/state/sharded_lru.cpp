// Sharded LRU: evicts the least recently used key of each shard in turn. The master of Mooncake Store keeps
// its objects in 1,024 hash tables and evicts the oldest of each (mooncake-store/src/master_service.cpp,
// BatchEvict, and include/master_service.h, kNumShards @3b5a594). With few objects per shard, the victims are
// not the least recently used objects of the whole tier, and they belong to many contexts.
#include <set>
#include <utility>

#include "state/orders.h"

namespace kvcap {
namespace {

constexpr Key kShards = 1024;

// Queue whose first slot is the oldest of the current shard, or of the next shard that is not empty.
class ShardQueue {
 public:
  Slot first() const {
    if (slots_.empty()) return kNoSlot;
    const auto at = slots_.lower_bound({{turn_, 0}, 0});
    return (at == slots_.end() ? slots_.begin() : at)->second;
  }
  void insert(Slot slot, Key shard, uint64_t serial) {
    places_[slot] = {shard, serial};
    slots_.insert({places_[slot], slot});
  }
  void erase(Slot slot) { slots_.erase({places_[slot], slot}); }
  // Return the slot's last shard and serial number, also after its removal.
  Key shard(Slot slot) const { return places_.get(slot).first; }
  uint64_t serial(Slot slot) const { return places_.get(slot).second; }
  void turn_to(Key shard) { turn_ = shard; }

 private:
  using Place = std::pair<Key, uint64_t>;  // shard, serial

  std::set<std::pair<Place, Slot>> slots_;
  PerSlot<Place> places_;
  Key turn_ = 0;
};

class ShardedLru : public SetAside {
 public:
  void enter(Slot slot, Key key) override {
    enters(slot);
    queue_.insert(slot, mixed(key) % kShards, ++uses_);
  }
  void leave(Slot slot, bool evicted) override {
    take(queue_, slot);
    leaves(slot);
    if (evicted) queue_.turn_to(queue_.shard(slot) + 1);
  }
  void chosen(Slot slot) override { queue_.turn_to(queue_.shard(slot) + 1); }
  void touch(Slot slot) override {
    take(queue_, slot);
    queue_.insert(slot, queue_.shard(slot), ++uses_);
  }
  void renew(Slot slot) override { touch(slot); }
  Slot victim() override { return first_free(queue_); }

 private:
  void put_back(Slot slot) override { queue_.insert(slot, queue_.shard(slot), queue_.serial(slot)); }

  ShardQueue queue_;
  uint64_t uses_ = 0;
};

}  // namespace

std::unique_ptr<Eviction> make_sharded_lru() { return std::make_unique<ShardedLru>(); }

}  // namespace kvcap
