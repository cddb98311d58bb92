// KvBlocks: the paged KV memory of an instance, counted in blocks of block_size tokens.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace kvcap {

class KvBlocks {
 public:
  KvBlocks(int64_t capacity_tokens, int64_t block_size)
      : block_size_(block_size), total_(capacity_tokens / block_size), free_(total_) {}

  int64_t needed(int64_t tokens) const {
    return (std::max<int64_t>(tokens, 0) + block_size_ - 1) / block_size_;
  }
  int64_t free() const { return free_; }
  int64_t total() const { return total_; }
  int64_t used_tokens() const { return (total_ - free_) * block_size_; }

  void take(int64_t blocks) {
    free_ -= blocks;
    KVCAP_CHECK(free_ >= 0);
  }
  void give_back(int64_t blocks) {
    free_ += blocks;
    KVCAP_CHECK(free_ <= total_);
  }

 private:
  int64_t block_size_;
  int64_t total_;
  int64_t free_;
};

}  // namespace kvcap
