// Fits the three parameters of a smooth maximum with the Levenberg-Marquardt method, in logarithms because
// all are positive.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "cost/gemm.h"

namespace kvcap {
namespace {

using Vector = std::array<double, 3>;  // ln e, ln b, ln c
using Matrix = std::array<Vector, 3>;

constexpr std::size_t kMostPoints = 512;
constexpr int kSteps = 100;
constexpr double kDifference = 1e-6;
constexpr double kMostDamping = 1e9;
constexpr double kConverged = 1e-12;
// Bounds of the shares of peak and bandwidth; above 1, because a nominal rate may be too low.
constexpr double kLeastShare = 1e-4, kMostShare = 4;
constexpr double kLeastConstant_s = 1e-12, kMostConstant_s = 1;

Efficiency efficiency_of(const Vector& x) {
  return {.model = EfficiencyModel::smooth_max,
          .efficiency = std::exp(x[0]),
          .bandwidth_efficiency = std::exp(x[1]),
          .constant_s = std::exp(x[2])};
}

Vector bounded(Vector x) {
  for (const std::size_t i : {0, 1}) x[i] = std::clamp(x[i], std::log(kLeastShare), std::log(kMostShare));
  x[2] = std::clamp(x[2], std::log(kLeastConstant_s), std::log(kMostConstant_s));
  return x;
}

struct Work {
  double peak = 0;
  double flops = 0, bytes = 0;
  double time_s = 0;
};

std::vector<double> residuals(const Gpu& gpu, const std::vector<Work>& works, const Vector& x) {
  const Efficiency efficiency = efficiency_of(x);
  std::vector<double> ratios;
  ratios.reserve(works.size());
  for (const Work& work : works) {
    const double model_s =
        roofline_s(efficiency, gpu, work.peak, work.flops, work.bytes) + efficiency.constant_s;
    ratios.push_back(std::log(model_s / work.time_s));
  }
  return ratios;
}

// Returns the i-th number of a sequence below `size` that is spread like multiples of the golden ratio, so
// that it does not coincide with a regular order of rows and shapes.
std::size_t spread(std::size_t i, std::size_t size) {
  constexpr double kGoldenRatio = 0.6180339887498949;
  const double multiple = static_cast<double>(i) * kGoldenRatio;
  return static_cast<std::size_t>((multiple - std::floor(multiple)) * static_cast<double>(size));
}

double squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

// Solves a x = b by Gaussian elimination; the damped matrix is positive definite.
Vector solved(Matrix a, Vector b) {
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = i + 1; j < 3; ++j) {
      const double factor = a[j][i] / a[i][i];
      for (std::size_t l = i; l < 3; ++l) a[j][l] -= factor * a[i][l];
      b[j] -= factor * b[i];
    }
  }
  for (std::size_t i = 3; i-- > 0;) {
    for (std::size_t j = i + 1; j < 3; ++j) b[i] -= a[i][j] * b[j];
    b[i] /= a[i][i];
  }
  return b;
}

}  // namespace

Efficiency smooth_fit(const Gpu& gpu, const std::vector<GemmPoint>& points) {
  KVCAP_CHECK(!points.empty());
  std::vector<Work> works;
  double least_s = points.front().time_s;
  const std::size_t taken = std::min(points.size(), kMostPoints);
  for (std::size_t i = 0; i < taken; ++i) {
    const GemmPoint& point = points[taken < points.size() ? spread(i, points.size()) : i];
    const ElementBytes bytes{point.activation_bytes_per_element, point.weight_bytes_per_element,
                             std::max(point.activation_bytes_per_element, 2.0)};
    const auto m = static_cast<double>(point.m);
    const auto n = static_cast<double>(point.n);
    const auto k = static_cast<double>(point.k);
    works.push_back({peak_flops(gpu, precision_of(bytes)), 2 * m * n * k,
                     m * (k * bytes.activation + n * bytes.output) + n * k * bytes.weight, point.time_s});
    least_s = std::min(least_s, point.time_s);
  }
  Vector x = bounded({std::log(0.8), std::log(0.8), std::log(least_s / 4)});
  std::vector<double> now = residuals(gpu, works, x);
  double damping = 1e-2;
  for (int step = 0; step < kSteps && damping < kMostDamping; ++step) {
    Matrix normal{};
    Vector gradient{};
    std::array<std::vector<double>, 3> moved;
    for (std::size_t j = 0; j < 3; ++j) {
      Vector there = x;
      there[j] += kDifference;
      moved[j] = residuals(gpu, works, there);
      for (std::size_t i = 0; i < now.size(); ++i) moved[j][i] = (moved[j][i] - now[i]) / kDifference;
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        gradient[j] -= moved[j][i] * now[i];
        for (std::size_t l = 0; l < 3; ++l) normal[j][l] += moved[j][i] * moved[l][i];
      }
    }
    const double before = squares(now);
    double gained = 0;
    while (damping < kMostDamping) {
      Matrix damped = normal;
      for (std::size_t j = 0; j < 3; ++j) damped[j][j] += damping * (normal[j][j] + 1e-9);
      const Vector move = solved(damped, gradient);
      const Vector next = bounded({x[0] + move[0], x[1] + move[1], x[2] + move[2]});
      std::vector<double> there = residuals(gpu, works, next);
      const double after = squares(there);
      if (after < before) {
        gained = before - after;
        x = next;
        now = std::move(there);
        damping = std::max(damping / 4, 1e-12);
        break;
      }
      damping *= 4;
    }
    if (gained <= kConverged * before) break;
  }
  return efficiency_of(x);
}

}  // namespace kvcap
