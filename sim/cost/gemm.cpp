#include "cost/gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "cost/cost_model.h"

namespace kvcap {
namespace {

double cube(double x) { return x * x * x; }

// The measured shape nearest to `shape`: smallest distance of (ln n, ln k), the earlier one on a tie.
GemmShape nearest_shape(const std::vector<GemmPoint>& points, GemmShape shape) {
  KVCAP_CHECK(!points.empty());
  GemmShape nearest;
  double least = std::numeric_limits<double>::infinity();
  for (const GemmPoint& point : points) {
    const double distance = std::hypot(std::log(static_cast<double>(point.n) / static_cast<double>(shape.n)),
                                       std::log(static_cast<double>(point.k) / static_cast<double>(shape.k)));
    if (distance < least) {
      least = distance;
      nearest = {point.n, point.k};
    }
  }
  return nearest;
}

// Time of a measured weight shape at `rows` rows: a straight line between the two neighbours in
// (ln m, ln t). Below the smallest m the time is held, because streaming the weights does not get cheaper;
// above the largest it grows with the flops.
double interpolate_s(const std::vector<GemmPoint>& points, GemmShape shape, double rows, bool* extrapolated) {
  const GemmPoint* below = nullptr;  // the largest m <= rows
  const GemmPoint* above = nullptr;  // the smallest m >= rows
  for (const GemmPoint& point : points) {
    if (point.n != shape.n || point.k != shape.k) continue;
    const auto m = static_cast<double>(point.m);
    if (m <= rows && (!below || point.m > below->m)) below = &point;
    if (m >= rows && (!above || point.m < above->m)) above = &point;
  }
  KVCAP_CHECK(below || above);
  if (!below || !above) *extrapolated = true;
  if (!below) return above->time_s;
  if (!above) return below->time_s * rows / static_cast<double>(below->m);
  if (below->m == above->m) return below->time_s;
  const auto lower_m = static_cast<double>(below->m);
  const auto upper_m = static_cast<double>(above->m);
  const double share = std::log(rows / lower_m) / std::log(upper_m / lower_m);
  return below->time_s * std::pow(above->time_s / below->time_s, share);
}

double table_gemm_s(const std::vector<GemmPoint>& points, GemmShape shape, double rows, bool* extrapolated) {
  const GemmShape measured = nearest_shape(points, shape);
  if (measured.n == shape.n && measured.k == shape.k) {
    return interpolate_s(points, shape, rows, extrapolated);
  }
  *extrapolated = true;
  const double flops_ratio = static_cast<double>(shape.n) * static_cast<double>(shape.k) /
                             (static_cast<double>(measured.n) * static_cast<double>(measured.k));
  return interpolate_s(points, measured, rows, extrapolated) * flops_ratio;
}

}  // namespace

double roofline_s(const Efficiency& efficiency, const Gpu& gpu, double flops, double bytes) {
  const double compute_s = flops / (gpu.peak_flops * efficiency.efficiency);
  if (efficiency.model == EfficiencyModel::constant) {
    return std::max(compute_s, bytes / gpu.memory_bandwidth_bytes_per_s);
  }
  KVCAP_CHECK(efficiency.model == EfficiencyModel::smooth_max);
  const double memory_s = bytes / (gpu.memory_bandwidth_bytes_per_s * efficiency.bandwidth_efficiency);
  return std::cbrt(cube(compute_s) + cube(memory_s));
}

double fixed_s(const Efficiency& efficiency) {
  const bool has_constant = efficiency.model == EfficiencyModel::smooth_max ||
                            efficiency.model == EfficiencyModel::wave ||
                            efficiency.model == EfficiencyModel::blocks;
  return has_constant ? efficiency.constant_s : 0;
}

double grouped_gemm_s(const Efficiency& efficiency, const Gpu& gpu, GemmRows rows, GemmShape shape,
                      ElementBytes bytes, bool* extrapolated) {
  if (efficiency.model == EfficiencyModel::table) {
    return rows.groups * table_gemm_s(efficiency.points, shape, rows.rows, extrapolated);
  }
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const double flops = 2 * rows.groups * rows.rows * n * k;
  const double moved_bytes = rows.groups * (rows.rows * (k + n) * bytes.activation + n * k * bytes.weight);
  return roofline_s(efficiency, gpu, flops, moved_bytes) + fixed_s(efficiency);
}

double gemm_s(const Efficiency& efficiency, const Gpu& gpu, int64_t m, int64_t n, int64_t k, double a_bytes,
              double b_bytes, bool* extrapolated) {
  bool outside = false;
  const double time_s =
      grouped_gemm_s(efficiency, gpu, {static_cast<double>(m), 1}, {n, k}, {a_bytes, b_bytes}, &outside);
  if (outside && extrapolated) *extrapolated = true;
  return time_s;
}

}  // namespace kvcap
