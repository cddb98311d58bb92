// Quantiles and the summary statistics of a distribution of latencies.
#pragma once

#include <span>
#include <vector>

namespace kvcap {

// Returns the q-quantile of values in ascending order, 0 <= q <= 1: linear interpolation between the two
// nearest order statistics at position q (n - 1), numpy's default. NaN without values.
double quantile_of_sorted(std::span<const double> ascending, double q);
// The same for values in any order.
double quantile_of(std::vector<double> values, double q);

// Number of quantiles: 1 %, 2 %, .. 99 %.
inline constexpr int kQuantileCount = 99;

// `std` is the standard deviation of the population (numpy's default, as in vLLM's bench). Without values,
// all members are NaN.
struct Distribution {
  double mean = 0, median = 0, std = 0, p90 = 0, p95 = 0, p99 = 0;
  std::vector<double> quantiles;  // kQuantileCount values
};

// Returns the statistics of `values`; sorts them in place to save memory.
Distribution describe(std::vector<double>& values);

}  // namespace kvcap
