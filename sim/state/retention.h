// Retention: the priorities of blocks in the prefix cache, by their positions in a prompt (TensorRT-LLM's
// KvCacheRetentionConfig and evictionPolicy.cpp@05a9191).
//
// Blocks of a lower priority are evicted first, and blocks of one priority in LRU order. A range applies to
// the blocks that begin in it. A block of a prompt outside all ranges keeps its priority, and a new block
// gets the default. Blocks of answers have the priority of decoding until a prompt hits them. A priority with
// a duration returns to the default when that time has passed since the block's last release.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace kvcap {

inline constexpr int64_t kDefaultPriority = 35, kMaxPriority = 100;

struct RetentionRange {
  int64_t from_token = 0;
  std::optional<int64_t> to_token;  // absent: the end of the prompt
  int64_t priority = kDefaultPriority;
  std::optional<double> duration_s;
};

inline constexpr double kForever = std::numeric_limits<double>::infinity();

// The priority and the duration of one block.
struct RetentionLevel {
  int32_t priority = kDefaultPriority;
  double duration_s = kForever;
  bool operator==(const RetentionLevel&) const = default;
};

struct Retention {
  std::vector<RetentionRange> ranges;  // ascending, without overlaps
  int64_t decode_priority = kDefaultPriority;
  std::optional<double> decode_duration_s;
  int64_t offload_min_priority = 30;  // lower: dropped instead of moved to the host cache

  bool has_durations() const {
    return decode_duration_s || std::any_of(ranges.begin(), ranges.end(), [](const RetentionRange& one) {
             return one.duration_s.has_value();
           });
  }
};

}  // namespace kvcap
