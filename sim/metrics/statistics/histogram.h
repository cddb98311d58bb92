// GapHistogram: a histogram of the gaps between output tokens (many millions per run) in constant memory.
// Every power of two of seconds is cut into 256 equal bins, so that the middle of a bin is within 1/512 = 0.2
// % of every gap in it; mean and standard deviation are exact.
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/statistics/quantiles.h"

namespace kvcap {

class GapHistogram {
 public:
  GapHistogram();

  // Adds `count` gaps of gap_s. REQUIRES gap_s >= 0, count >= 0.
  void add(double gap_s, int64_t count);
  // For every i in 0 .. steps-1, adds `each` gaps of first_s + i growth_s. Takes time proportional to the
  // number of bins that the gaps fall into. REQUIRES that no gap is negative.
  void add_ramp(double first_s, double growth_s, int64_t steps, int64_t each);

  int64_t count() const { return count_; }
  double mean_s() const;
  double std_s() const;
  // Returns the q-quantile of the gaps, as quantile_of_sorted does; relative error below 0.25 % (gaps below a
  // nanosecond count as 0).
  double quantile_s(double q) const;
  // Returns all statistics in milliseconds.
  Distribution describe_ms() const;

 private:
  // Adds a block of gaps to the moments, given its count, sum and sum of squared deviations (Chan, Golub and
  // LeVeque 1979). This method loses no precision when all gaps are nearly equal.
  void join(double count, double sum_s, double squares_s2);

  std::vector<int64_t> bins_;
  int64_t count_ = 0;
  double sum_s_ = 0;
  double squares_s2_ = 0;  // sum of squared deviations from the mean
  double least_s_, greatest_s_;
};

}  // namespace kvcap
