#include "metrics/statistics/quantiles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace kvcap {

double quantile_of_sorted(std::span<const double> ascending, double q) {
  KVCAP_CHECK(q >= 0 && q <= 1);
  if (ascending.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double position = q * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  const double share = position - static_cast<double>(below);
  return ascending[below] + share * (ascending[above] - ascending[below]);
}

double quantile_of(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return quantile_of_sorted(values, q);
}

Distribution describe(std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (double value : values) sum += value;
  const double mean = sum / count;  // NaN (0/0) without values
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);

  std::sort(values.begin(), values.end());
  Distribution result{.mean = mean,
                      .median = quantile_of_sorted(values, 0.5),
                      .std = std::sqrt(squares / count),
                      .p90 = quantile_of_sorted(values, 0.90),
                      .p95 = quantile_of_sorted(values, 0.95),
                      .p99 = quantile_of_sorted(values, 0.99),
                      .quantiles = {}};
  for (int percent = 1; percent <= kQuantileCount; ++percent)
    result.quantiles.push_back(quantile_of_sorted(values, percent / 100.0));
  return result;
}

}  // namespace kvcap
