// Adaptive replacement cache (Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST
// 2003), as implemented for vLLM's host memory (vllm/v1/kv_offload/cpu/policies/arc.py@02957b5). There are
// two queues, each with the least recently used key first: keys used once since they entered, and keys used
// again. The first queue evicts its oldest key while it holds at least as many keys as its target, otherwise
// the second does. Each queue remembers as many of its evicted keys as there are keys in the tier. A newcomer
// that the first queue remembers raises the target, and a newcomer that the second queue remembers lowers it:
// by one, or by the number of keys that the other queue remembers divided by the number that this queue
// remembers, if that is larger.
//
// In the paper a remembered newcomer counts as used again. In vLLM it enters as used once, and so it does
// here. Capacities count keys, including held ones. If the whole second queue is held, the first one evicts;
// vLLM instead skips the save, but all its keys have the same size.
#include <algorithm>
#include <map>
#include <utility>

#include "state/orders.h"

namespace kvcap {
namespace {

// The keys that were evicted from a queue and are remembered (a ghost list), oldest first.
class Departed {
 public:
  std::size_t size() const { return keys_.size(); }
  bool contains(Key key) const { return serials_.find(key) != 0; }
  // Adds the key or makes it the newest.
  void insert(Key key) {
    erase(key);
    serials_.set(key, ++last_);
    keys_[last_] = key;
  }
  void erase(Key key) {
    keys_.erase(serials_.find(key));
    serials_.erase(key);
  }
  void keep(std::size_t most) {
    while (keys_.size() > most) erase(keys_.begin()->second);
  }

 private:
  std::map<uint64_t, Key> keys_;
  KeyMap<uint64_t, 0> serials_;
  uint64_t last_ = 0;
};

class Arc : public SetAside {
 public:
  void awaits(Key key) override {
    const bool left_once = once_.left.contains(key);
    if (!left_once && !again_.left.contains(key)) return;
    const auto once = static_cast<double>(once_.left.size()), again = static_cast<double>(again_.left.size());
    const double step = left_once ? std::max(1.0, again / once) : -std::max(1.0, once / again);
    target_ = std::clamp(target_ + step, 0.0, static_cast<double>(keys()));
    (left_once ? once_ : again_).left.insert(key);
  }
  void enter(Slot slot, Key key) override {
    enters(slot);
    once_.left.erase(key);
    again_.left.erase(key);
    records_[slot] = {.key = key};
    add(once_, slot);
  }
  void leave(Slot slot, bool evicted) override {
    const std::size_t capacity = keys();
    Half& from = half(slot);
    unchoose(slot);
    remove(from, slot);
    leaves(slot);
    if (!evicted) return;
    from.left.insert(records_[slot].key);
    once_.left.keep(capacity);
    again_.left.keep(capacity);
  }
  void touch(Slot slot) override {
    unchoose(slot);
    remove(half(slot), slot);
    records_[slot].again = true;
    add(again_, slot);
  }
  void renew(Slot slot) override {
    Half& own = half(slot);
    remove(own, slot);
    add(own, slot);
  }
  void chosen(Slot slot) override {
    if (records_[slot].again || std::exchange(records_[slot].chosen, true)) return;
    ++chosen_once_;
  }
  void release(Slot slot) override {
    unchoose(slot);
    SetAside::release(slot);
  }
  Slot victim() override {
    const bool from_once = once_.count - chosen_once_ >= static_cast<std::size_t>(target_);
    const Slot first = first_free(from_once ? once_.queue : again_.queue);
    return first != kNoSlot ? first : first_free(from_once ? again_.queue : once_.queue);
  }

 private:
  struct Half {
    SlotQueue queue;
    std::size_t count = 0;  // including held keys
    Departed left;
  };
  struct Record {
    Key key = 0;
    bool again = false;   // used more than once
    bool chosen = false;  // chosen as a victim in the queue of keys used once
  };

  Half& half(Slot slot) { return records_[slot].again ? again_ : once_; }
  std::size_t keys() const { return once_.count + again_.count; }
  void add(Half& to, Slot slot) {
    to.queue.insert(slot, ++uses_);
    ++to.count;
  }
  void remove(Half& from, Slot slot) {
    take(from.queue, slot);
    --from.count;
  }
  void unchoose(Slot slot) {
    if (std::exchange(records_[slot].chosen, false)) --chosen_once_;
  }
  void put_back(Slot slot) override { half(slot).queue.insert(slot, half(slot).queue.serial(slot)); }

  Half once_, again_;
  double target_ = 0;  // number of keys that the first queue should keep
  std::size_t chosen_once_ = 0;
  PerSlot<Record> records_;
  uint64_t uses_ = 0;
};

}  // namespace

std::unique_ptr<Eviction> make_arc() { return std::make_unique<Arc>(); }

}  // namespace kvcap
