// Dice: random choices of the soak, from one named stream.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>

#include "base/random.h"

namespace kvcap::soak {

class Dice {
 public:
  explicit Dice(uint64_t number, const char* name = "soak") : stream_(number, name) {}

  bool chance(double share) { return unit() < share; }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(unit() * static_cast<double>(high - low + 1));
  }
  // Returns an index below `count`.
  std::size_t which(std::size_t count) {
    return static_cast<std::size_t>(between(0, static_cast<int64_t>(count) - 1));
  }
  double within(double low, double high) { return low + unit() * (high - low); }
  // Returns a log-uniform value.
  double spread(double low, double high) { return low * std::pow(high / low, unit()); }
  int64_t tokens(double low, double high) { return static_cast<int64_t>(std::llround(spread(low, high))); }
  template <class List>
  auto pick(const List& list) {
    return *(std::begin(list) + between(0, std::ssize(list) - 1));
  }
  template <class Value>
  Value pick(std::initializer_list<Value> list) {
    return *(list.begin() + between(0, static_cast<int64_t>(list.size()) - 1));
  }

 private:
  double unit() { return stream_.uniform(next_++); }

  RandomStream stream_;
  uint64_t next_ = 0;
};

}  // namespace kvcap::soak
