// Measured times of one kind of collective in one group of GPUs, over the bytes of the full buffer.
#pragma once

#include <vector>

#include "spec/hardware_profile.h"

namespace kvcap {

class CollectiveTable {
 public:
  // Points of a single group, in any order.
  explicit CollectiveTable(std::vector<CollectivePoint> points);

  bool empty() const { return points_.empty(); }
  // Between two sizes a straight line between logarithms; below the smallest its time, above the largest
  // growing with the bytes.
  double time_s(double bytes) const;

 private:
  std::vector<CollectivePoint> points_;
};

}  // namespace kvcap
