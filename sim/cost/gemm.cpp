#include "cost/gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "cost/kernels.h"

namespace kvcap {
namespace {

// The least number of points that determines the three parameters of a fit. The times of a table with fewer
// points are scaled by the flops.
constexpr std::size_t kLeastPointsOfAFit = 8;

double cube(double x) { return x * x * x; }

// Scales of blocks add 0.02 % to the weights.
bool same_format(const ElementBytes& a, const ElementBytes& b) {
  return a.activation == b.activation && std::abs(a.weight / b.weight - 1) < 1e-3;
}

// Results have 16 bits, or the format of the activations if that is wider.
ElementBytes format_of(double activation, double weight) {
  return {activation, weight, std::max(activation, 2.0)};
}

double flops_of(GemmRows rows, GemmShape shape) {
  return 2 * rows.groups * rows.rows * static_cast<double>(shape.n) * static_cast<double>(shape.k);
}

double bytes_of(GemmRows rows, GemmShape shape, const ElementBytes& bytes) {
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  return rows.groups * (rows.rows * (k * bytes.activation + n * bytes.output) + n * k * bytes.weight);
}

}  // namespace

// The measured neighbours of a number of rows. Outside the measured range, one of them is null.
struct GemmCurve::Neighbours {
  const GemmPoint* below = nullptr;  // the largest m <= rows
  const GemmPoint* above = nullptr;  // the smallest m >= rows
  double share = 0;                  // position of the rows between below and above, in ln m
};

GemmCurve::Neighbours GemmCurve::neighbours(double rows) const {
  const auto above = std::lower_bound(
      points.begin(), points.end(), rows,
      [](const GemmPoint& point, double wanted) { return static_cast<double>(point.m) < wanted; });
  Neighbours found;
  if (above != points.end()) found.above = &*above;
  if (found.above && static_cast<double>(above->m) == rows) {
    found.below = found.above;
    return found;
  }
  if (above != points.begin()) found.below = &*(above - 1);
  if (found.below && found.above) {
    const auto lower_m = static_cast<double>(found.below->m);
    found.share = std::log(rows / lower_m) / std::log(static_cast<double>(found.above->m) / lower_m);
  }
  return found;
}

// Interpolates linearly in (ln m, ln t). Below the smallest m the time is constant, because streaming the
// weights does not get cheaper; above the largest it grows with the flops.
double GemmCurve::time_s(double rows, bool* extrapolated) const {
  const Neighbours found = neighbours(rows);
  if (!found.below || !found.above) *extrapolated = true;
  if (!found.below) return found.above->time_s;
  if (!found.above) return found.below->time_s * rows / static_cast<double>(found.below->m);
  return found.below->time_s * std::pow(found.above->time_s / found.below->time_s, found.share);
}

namespace {

// Returns the efficiency model of a precision, or `absent` if the profile has none for it.
const Efficiency& efficiency_of(Precision precision, const std::optional<Efficiency>& fp8,
                                const std::optional<Efficiency>& fp4, const Efficiency& absent) {
  if (precision == Precision::fp8 && fp8) return *fp8;
  if (precision == Precision::fp4 && fp4) return *fp4;
  return absent;
}

// Returns the efficiency model of expert GEMMs. Four-bit weights have separate kernels, for any activations.
const std::optional<Efficiency>& grouped_efficiency(const Gpu& gpu, const ElementBytes& bytes) {
  const bool half = precision_of(bytes) == Precision::half;
  if (bytes.weight <= kMostFourBitBytes) {
    const std::optional<Efficiency>& own = half ? gpu.grouped_gemm_w4a16 : gpu.grouped_gemm_fp4;
    if (own) return own;
  }
  if (half) return gpu.grouped_gemm;
  return precision_of(bytes) == Precision::fp8 ? gpu.grouped_gemm_fp8 : gpu.grouped_gemm_fp4;
}

std::optional<GemmModel> grouped_model(const Gpu& gpu, const ElementBytes& bytes) {
  const std::optional<Efficiency>& own = grouped_efficiency(gpu, bytes);
  if (!own) return std::nullopt;
  return GemmModel(*own, gpu);
}

}  // namespace

Precision precision_of(const ElementBytes& bytes) {
  const double wider = std::max(bytes.activation, bytes.weight);
  if (wider > kMostEightBitBytes) return Precision::half;
  return wider > kMostFourBitBytes ? Precision::fp8 : Precision::fp4;
}

double peak_flops(const Gpu& gpu, Precision precision) {
  const double fp8 = gpu.peak_flops_fp8.value_or(gpu.peak_flops);
  if (precision == Precision::half) return gpu.peak_flops;
  return precision == Precision::fp8 ? fp8 : gpu.peak_flops_fp4.value_or(fp8);
}

double roofline_s(const Efficiency& efficiency, const Gpu& gpu, double flops, double bytes) {
  return roofline_s(efficiency, gpu, gpu.peak_flops, flops, bytes);
}

double roofline_s(const Efficiency& efficiency, const Gpu& gpu, double peak, double flops, double bytes) {
  const double compute_s = flops / (peak * efficiency.efficiency);
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

GemmModel::GemmModel(const Efficiency& efficiency, const Gpu& gpu) : efficiency_(efficiency) {
  gpu_.peak_flops = gpu.peak_flops;
  gpu_.peak_flops_fp8 = gpu.peak_flops_fp8;
  gpu_.peak_flops_fp4 = gpu.peak_flops_fp4;
  gpu_.memory_bandwidth_bytes_per_s = gpu.memory_bandwidth_bytes_per_s;
  efficiency_.points.clear();
  if (efficiency.model != EfficiencyModel::table) return;
  KVCAP_CHECK(!efficiency.points.empty());
  std::map<std::pair<double, double>, std::vector<GemmPoint>> by_format;
  for (const GemmPoint& point : efficiency.points) {
    by_format[{point.activation_bytes_per_element, point.weight_bytes_per_element}].push_back(point);
  }
  for (auto& [format, points] : by_format) {
    Table table{format_of(format.first, format.second), {}, smooth_fit(gpu_, points), points.size()};
    std::stable_sort(points.begin(), points.end(), [](const GemmPoint& a, const GemmPoint& b) {
      return std::tie(a.n, a.k, a.m) < std::tie(b.n, b.k, b.m);
    });
    for (const GemmPoint& point : points) {
      const bool same = !table.curves.empty() && table.curves.back().shape.n == point.n &&
                        table.curves.back().shape.k == point.k;
      if (!same) table.curves.push_back({{point.n, point.k}, {}});
      table.curves.back().points.push_back(point);
    }
    tables_.push_back(std::move(table));
  }
}

// Returns the measured shape with the smallest distance to `shape` in (ln n, ln k); a tie goes to the
// narrower shape.
const GemmCurve& GemmModel::Table::nearest(GemmShape shape) const {
  const auto distance = [shape](const GemmCurve& curve) {
    return std::hypot(std::log(static_cast<double>(curve.shape.n) / static_cast<double>(shape.n)),
                      std::log(static_cast<double>(curve.shape.k) / static_cast<double>(shape.k)));
  };
  const GemmCurve* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const GemmCurve& curve : curves) {
    const double here = distance(curve);
    if (here < least) {
      least = here;
      nearest = &curve;
    }
  }
  KVCAP_CHECK(nearest);
  return *nearest;
}

double GemmModel::formula_s(const Efficiency& efficiency, GemmRows rows, GemmShape shape,
                            ElementBytes bytes) const {
  const Precision precision = precision_of(bytes);
  double time_s = roofline_s(efficiency, gpu_, peak_flops(gpu_, precision), flops_of(rows, shape),
                             bytes_of(rows, shape, bytes)) +
                  fixed_s(efficiency);
  if (efficiency.quantize_bandwidth_efficiency && precision != Precision::half && !rows.grouped) {
    const double quantised_bytes =
        rows.rows * static_cast<double>(shape.k) * (bytes.output + bytes.activation);
    time_s +=
        quantised_bytes / (gpu_.memory_bandwidth_bytes_per_s * *efficiency.quantize_bandwidth_efficiency);
  }
  return time_s;
}

const GemmModel::Table& GemmModel::nearest_table(const ElementBytes& bytes) const {
  const auto distance = [&bytes](const Table& table) {
    return std::hypot(std::log(table.bytes.activation / bytes.activation),
                      std::log(table.bytes.weight / bytes.weight));
  };
  return *std::min_element(tables_.begin(), tables_.end(),
                           [&distance](const Table& a, const Table& b) { return distance(a) < distance(b); });
}

double GemmModel::table_s(const Table& table, double rows, GemmShape shape, bool* extrapolated) const {
  const GemmCurve& measured = table.nearest(shape);
  if (measured.shape.n == shape.n && measured.shape.k == shape.k) return measured.time_s(rows, extrapolated);
  *extrapolated = true;
  if (table.points < kLeastPointsOfAFit) {
    return measured.time_s(rows, extrapolated) * flops_of({rows, 1}, shape) /
           flops_of({rows, 1}, measured.shape);
  }
  // Returns measured time / fitted time of a measured GEMM.
  const auto correction = [&](const GemmPoint& point) {
    const GemmRows its_rows{static_cast<double>(point.m), 1};
    return point.time_s / formula_s(table.fit, its_rows, measured.shape, table.bytes);
  };
  const GemmCurve::Neighbours found = measured.neighbours(rows);
  const double fit_s = formula_s(table.fit, {rows, 1}, shape, table.bytes);
  const double below = correction(found.below ? *found.below : *found.above);
  const double above = correction(found.above ? *found.above : *found.below);
  return fit_s * below * std::pow(above / below, found.share);
}

double GemmModel::time_s(GemmRows rows, GemmShape shape, ElementBytes bytes, bool* extrapolated) const {
  if (tables_.empty()) return formula_s(efficiency_, rows, shape, bytes);
  const Table& table = nearest_table(bytes);
  if (rows.grouped || rows.groups != 1) return formula_s(table.fit, rows, shape, bytes);
  const double measured_s = table_s(table, rows.rows, shape, extrapolated);
  if (same_format(table.bytes, bytes)) return measured_s;
  *extrapolated = true;
  return measured_s * formula_s(table.fit, rows, shape, bytes) /
         formula_s(table.fit, rows, shape, table.bytes);
}

Gemms::Gemms(const Gpu& gpu, ElementBytes bytes)
    : bytes_(bytes),
      plain_(efficiency_of(precision_of(bytes), gpu.gemm_fp8, gpu.gemm_fp4, gpu.gemm), gpu),
      grouped_(grouped_model(gpu, bytes)) {}

double Gemms::time_s(GemmRows rows, GemmShape shape, bool* extrapolated) const {
  const GemmModel& model = rows.grouped && grouped_ ? *grouped_ : plain_;
  return model.time_s(rows, shape, bytes_, extrapolated);
}

double gemm_s(const Efficiency& efficiency, const Gpu& gpu, int64_t m, int64_t n, int64_t k, double a_bytes,
              double b_bytes, bool* extrapolated) {
  bool outside = false;
  const double time_s =
      GemmModel(efficiency, gpu)
          .time_s({static_cast<double>(m), 1}, {n, k}, format_of(a_bytes, b_bytes), &outside);
  if (outside && extrapolated) *extrapolated = true;
  return time_s;
}

}  // namespace kvcap
