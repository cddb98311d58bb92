// RateCurve: bytes a second over the bytes of one piece, from measured points.
//
// Between two points the rate is a power of the piece's bytes: a straight line in log(bytes) and
// log(bytes/s), which is exact where every piece takes the same time and where the rate is constant. Pieces
// smaller than the first point take as long as one of its size; larger ones than the last move at its rate.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spec/hardware_profile.h"

namespace kvcap {

class RateCurve {
 public:
  RateCurve() = default;
  // REQUIRES: block_bytes rise from point to point, and bytes_per_s do not fall.
  explicit RateCurve(std::span<const RatePoint> points) : points_(points.begin(), points.end()) {}

  bool empty() const { return points_.empty(); }
  // Of transfers in pieces of `block_bytes` > 0. REQUIRES: not empty.
  double bytes_per_s(double block_bytes) const;

 private:
  std::vector<RatePoint> points_;
};

// The points of one SSD at `queue_depth`: those of its two neighbours among the measured depths, interpolated
// in log(depth) in the same way; of the nearest depth beyond the measured ones. Absent: the deepest.
std::vector<RatePoint> at_queue_depth(std::span<const SsdPoint> points, std::optional<int64_t> queue_depth);

}  // namespace kvcap
