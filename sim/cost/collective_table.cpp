#include "cost/collective_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kvcap {

CollectiveTable::CollectiveTable(std::vector<CollectivePoint> points) : points_(std::move(points)) {
  std::sort(points_.begin(), points_.end(),
            [](const CollectivePoint& a, const CollectivePoint& b) { return a.bytes < b.bytes; });
}

double CollectiveTable::time_s(double bytes) const {
  const auto above =
      std::lower_bound(points_.begin(), points_.end(), bytes,
                       [](const CollectivePoint& point, double size) { return point.bytes < size; });
  if (above == points_.begin()) return above->time_s;
  const CollectivePoint& below = *(above - 1);
  if (above == points_.end()) return below.time_s * bytes / below.bytes;
  const double share = std::log(bytes / below.bytes) / std::log(above->bytes / below.bytes);
  return below.time_s * std::pow(above->time_s / below.time_s, share);
}

}  // namespace kvcap
