// Eviction: which of the keys in one tier leaves when room is needed. An eviction sees keys, uses and
// the order of time, never bytes or clocks; one file each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "state/options.h"

namespace kvcap {

using Key = uint64_t;  // a session; later a prefix block or a text chunk
using Order = double;  // grows with time; compared, never measured

class Eviction {
 public:
  virtual ~Eviction() = default;
  // `key` entered or was used.
  virtual void touch(Key key, Order now) = 0;
  // The first key in eviction order that may leave; none when all must stay.
  virtual std::optional<Key> victim(const std::function<bool(Key)>& may_leave) const = 0;
  virtual void erase(Key key) = 0;
};

std::unique_ptr<Eviction> make_lru();   // least recently used first
std::unique_ptr<Eviction> make_fifo();  // in order of entry, uses do not count
std::unique_ptr<Eviction> make_eviction(EvictionKind kind);

}  // namespace kvcap
