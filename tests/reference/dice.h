// Random choices that are the same on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>

namespace kvcap::reference {

class Dice {
 public:
  explicit Dice(uint64_t seed) : bits_(seed) {}

  bool chance(double share) { return within(0, 1) < share; }
  int64_t between(int64_t low, int64_t high) {  // both included
    return low + static_cast<int64_t>(bits_() % static_cast<uint64_t>(high - low + 1));
  }
  double within(double low, double high) {
    return low + (high - low) * static_cast<double>(bits_() >> 11) * 0x1p-53;
  }
  int64_t pick(std::initializer_list<int64_t> list) {
    return list.begin()[between(0, static_cast<int64_t>(list.size()) - 1)];
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace kvcap::reference
