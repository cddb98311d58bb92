// WarmupDetector: finds the warm-up at the beginning of a run by MSER-5. It cuts off the beginning of a
// sequence such that the standard error of the mean of the rest, computed as if values were independent, is
// least. If d of n means of five values are cut off, this error is sum (Y_i - mean)^2 / (n - d)^2 over i > d
// (White, Simulation 69, 1997; White, Cobb and Spratt, Winter Simulation Conference 2000). Cutting off values
// that differ from the rest lowers the error; cutting off values like the rest raises it.
//
// Cuts beyond three quarters of the sequence leave too few values and are not tried. If the best cut is in
// the second half, the sequence has not settled: it is too short, or it grows without end. Short and strongly
// correlated sequences may look unsettled by chance: of stationary sequences with a lag-1 correlation of 0.9,
// 1 in 7 does with 200 values, and none with 500.
#pragma once

#include <cstdint>

#include "metrics/statistics/batch_means.h"

namespace kvcap {

class WarmupDetector {
 public:
  static constexpr std::size_t kFewestValues = 200;

  void add(double value) { means_.add(value); }

  struct Found {
    bool can_tell = false;  // false: fewer than kFewestValues, or not settled
    int64_t values = 0;     // number of values to exclude at the beginning
    int64_t group = 5;      // values per mean: 5, doubled until 8,192 means cover the sequence
  };
  Found find() const;

 private:
  Stretches means_{5, 8192};
};

}  // namespace kvcap
