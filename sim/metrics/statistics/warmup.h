// Where does a run forget its beginning? MSER-5 cuts so much of a sequence that the standard error of the
// mean of the rest, as if it were independent, is least: with d of n means of five cut, sum (Y_i - mean)^2 /
// (n - d)^2 over i > d (White, Simulation 69, 1997; White, Cobb and Spratt, Winter Simulation Conference
// 2000). Cutting what is unlike the rest lowers it, cutting what is alike raises it.
//
// What is left after three quarters is too little to judge by and not tried. A best cut beyond the half means
// that the sequence has not settled: it is too short, or it grows without end. Short and strongly correlated
// sequences may look so by chance: of stationary ones with a lag-1 correlation of 0.9, 1 in 7 of 200 values
// and none of 500.
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
    int64_t values = 0;     // the first to leave out
    int64_t group = 5;      // values of one mean: 5, doubled so often that 8,192 means hold the sequence
  };
  Found find() const;

 private:
  Stretches means_{5, 8192};
};

}  // namespace kvcap
