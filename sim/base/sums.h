// Sums: prefix sums of a sequence whose items change (Fenwick 1994); add() and first() take O(log n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvcap {

class Sums {
 public:
  explicit Sums(std::size_t size) : tree_(size + 1, 0) {}
  void add(std::size_t i, int64_t value) {
    for (++i; i < tree_.size(); i += i & (~i + 1)) tree_[i] += value;
  }
  int64_t first(std::size_t count) const {
    int64_t sum = 0;
    for (; count > 0; count -= count & (~count + 1)) sum += tree_[count];
    return sum;
  }

 private:
  std::vector<int64_t> tree_;
};

}  // namespace kvcap
