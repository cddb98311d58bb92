#include "spec/rate_curve.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"

namespace kvcap {
namespace {

// Returns the value at x of the power law through (x1, y1) and (x2, y2).
double power_law(double x1, double y1, double x2, double y2, double x) {
  return y1 * std::pow(y2 / y1, std::log(x / x1) / std::log(x2 / x1));
}

}  // namespace

double RateCurve::bytes_per_s(double block_bytes) const {
  KVCAP_CHECK(!points_.empty());
  const RatePoint& first = points_.front();
  if (block_bytes <= first.block_bytes) return first.bytes_per_s * block_bytes / first.block_bytes;
  const auto above = std::find_if(points_.begin(), points_.end(), [block_bytes](const RatePoint& point) {
    return point.block_bytes >= block_bytes;
  });
  if (above == points_.end()) return points_.back().bytes_per_s;
  const RatePoint& below = *(above - 1);
  return power_law(below.block_bytes, below.bytes_per_s, above->block_bytes, above->bytes_per_s, block_bytes);
}

std::vector<RatePoint> at_queue_depth(std::span<const SsdPoint> points, std::optional<int64_t> queue_depth) {
  std::map<int64_t, std::vector<RatePoint>> measured;
  for (const SsdPoint& point : points) {
    measured[point.queue_depth].push_back({point.block_bytes, point.bytes_per_s});
  }
  if (measured.empty()) return {};
  if (!queue_depth) return measured.rbegin()->second;
  const auto above = measured.lower_bound(*queue_depth);
  if (above == measured.end()) return measured.rbegin()->second;
  if (above->first == *queue_depth || above == measured.begin()) return above->second;
  const auto below = std::prev(above);
  std::vector<double> blocks;
  for (const auto* list : {&below->second, &above->second}) {
    for (const RatePoint& point : *list) blocks.push_back(point.block_bytes);
  }
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  const RateCurve low(below->second), high(above->second);
  std::vector<RatePoint> between;
  for (double block : blocks) {
    between.push_back({block, power_law(static_cast<double>(below->first), low.bytes_per_s(block),
                                        static_cast<double>(above->first), high.bytes_per_s(block),
                                        static_cast<double>(*queue_depth))});
  }
  return between;
}

}  // namespace kvcap
