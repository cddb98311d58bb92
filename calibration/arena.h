// Arena hands out pieces of memory of one kind (device or host) and takes them all back together, so that
// cases of different sizes reuse memory without allocation. It grows to the size of the largest case.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "calibration/backend.h"

namespace kvcap::calibration {

class Arena {
 public:
  Arena(Backend& backend, Place place) : backend_(backend), place_(place) {}

  // Returns memory that is valid until clear() and aligned for O_DIRECT.
  std::byte* take(int64_t bytes) {
    const int64_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    while (block_ < blocks_.size() && used_bytes_ + size > blocks_[block_].bytes()) {
      ++block_;
      used_bytes_ = 0;
    }
    if (block_ == blocks_.size()) blocks_.push_back(backend_.allocate(place_, std::max(size, kBlockBytes)));
    std::byte* const data = blocks_[block_].at(used_bytes_);
    used_bytes_ += size;
    return data;
  }
  template <typename T>
  T* take_of(int64_t count) {
    return reinterpret_cast<T*>(take(count * static_cast<int64_t>(sizeof(T))));
  }
  void clear() { block_ = 0, used_bytes_ = 0; }

 private:
  static constexpr int64_t kAlignment = 4096;
  static constexpr int64_t kBlockBytes = int64_t{8} << 20;

  Backend& backend_;
  Place place_;
  std::vector<Buffer> blocks_;
  std::size_t block_ = 0;  // index of the block that pieces are taken from
  int64_t used_bytes_ = 0;
};

}  // namespace kvcap::calibration
