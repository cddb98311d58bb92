// CollectiveTable: maps the bytes of the full buffer to the measured time of one kind of collective, for one
// number of GPUs.
#pragma once

#include <vector>

#include "spec/hardware_profile.h"

namespace kvcap {

class CollectiveTable {
 public:
  // `points`: measurements of one group size, in any order.
  explicit CollectiveTable(std::vector<CollectivePoint> points);

  bool empty() const { return points_.empty(); }
  // Interpolates linearly in (ln bytes, ln time). Below the smallest size, its time applies; above the
  // largest, the time is proportional to the bytes.
  double time_s(double bytes) const;

 private:
  std::vector<CollectivePoint> points_;
};

}  // namespace kvcap
