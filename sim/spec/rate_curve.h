// RateCurve: the rate of a transfer in bytes per second as a function of the size of its pieces (the copies
// or requests into which it is divided), from measured points.
//
// Between two points the rate is a power of the piece's bytes: a straight line in log(bytes) and
// log(bytes/s). This is exact both if every piece takes the same time and if the rate is constant. Pieces
// smaller than the first point take as long as the first point; pieces larger than the last point have its
// rate.
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
  // REQUIRES: block_bytes ascend from point to point, and bytes_per_s do not descend.
  explicit RateCurve(std::span<const RatePoint> points) : points_(points.begin(), points.end()) {}

  bool empty() const { return points_.empty(); }
  // Returns the rate of transfers in pieces of `block_bytes` > 0. REQUIRES: not empty.
  double bytes_per_s(double block_bytes) const;

 private:
  std::vector<RatePoint> points_;
};

// Returns the points of one SSD at `queue_depth`, interpolated in log(depth) between the two neighbouring
// measured depths, as in RateCurve. Outside the measured depths, returns the points of the nearest one;
// without `queue_depth`, those of the deepest.
std::vector<RatePoint> at_queue_depth(std::span<const SsdPoint> points, std::optional<int64_t> queue_depth);

}  // namespace kvcap
