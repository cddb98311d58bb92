// LRU and FIFO are one list: a use moves a key to the back of the one and leaves it in the other.
#include <list>
#include <unordered_map>

#include "base/check.h"
#include "state/eviction.h"

namespace kvcap {
namespace {

class RecencyList : public Eviction {
 public:
  explicit RecencyList(bool uses_count) : uses_count_(uses_count) {}

  void touch(Key key, Order) override {
    auto [place, entered] = place_.try_emplace(key);
    if (entered) {
      place->second = order_.insert(order_.end(), key);
    } else if (uses_count_) {
      order_.splice(order_.end(), order_, place->second);
    }
  }

  std::optional<Key> victim(const std::function<bool(Key)>& may_leave) const override {
    for (Key key : order_) {
      if (may_leave(key)) return key;
    }
    return std::nullopt;
  }

  void erase(Key key) override {
    auto place = place_.find(key);
    if (place == place_.end()) return;
    order_.erase(place->second);
    place_.erase(place);
  }

 private:
  bool uses_count_;
  std::list<Key> order_;  // first to leave first
  std::unordered_map<Key, std::list<Key>::iterator> place_;
};

}  // namespace

std::unique_ptr<Eviction> make_lru() { return std::make_unique<RecencyList>(true); }
std::unique_ptr<Eviction> make_fifo() { return std::make_unique<RecencyList>(false); }

std::unique_ptr<Eviction> make_eviction(EvictionKind kind) {
  switch (kind) {
    case EvictionKind::lru:
      return make_lru();
    case EvictionKind::fifo:
      return make_fifo();
  }
  KVCAP_BUG("an eviction that is not handled");
}

}  // namespace kvcap
