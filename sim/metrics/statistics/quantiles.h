// Quantiles and the six numbers by which a distribution of latencies is reported.
#pragma once

#include <span>
#include <vector>

namespace kvcap {

// The q-quantile of values in ascending order, 0 <= q <= 1: linear interpolation between the two nearest
// order statistics at position q (n - 1), numpy's default. NaN when there are no values.
double quantile_of_sorted(std::span<const double> ascending, double q);

// 1 %, 2 %, .. 99 %.
inline constexpr int kQuantileCount = 99;

// std is the population's (numpy's default, as vLLM's benchmark reports it). All NaN without values.
struct Distribution {
  double mean = 0, median = 0, std = 0, p90 = 0, p95 = 0, p99 = 0;
  std::vector<double> quantiles;  // kQuantileCount of them
};

// Sorts `values` in place, so that the caller's one buffer is all the memory it takes.
Distribution describe(std::vector<double>& values);

}  // namespace kvcap
