// Batch means: how far chance moves a mean inside one run. Turns that follow each other wait in the same
// queue and are correlated, so that their own spread says too little; sums of long enough stretches of them
// are nearly independent, and their spread says how far the whole strays (Law and Kelton, Simulation Modeling
// and Analysis, 9.5.3). 10 to 30 batches serve best (Schmeiser, Operations Research 30, 1982): fewer are
// needlessly uncertain, more are too short. Whether they are long enough is tested: their lag-1 correlation,
// 1 - von Neumann's ratio, must not be above what independent ones give in 9 of 10 cases (Fishman, Management
// Science 24, 1978); else fewer and longer ones are tried, and where 10 are still correlated there is no
// interval. What is promised as 95 % is 94 to 96 % where a run is long (20,000 values of lag-1 correlation
// 0.98) and less where it is short: of the waits of M/M/1 at load 0.9, 93 % with 100,000 customers, 82 % with
// 5,000.
//
// A mean may be a ratio: of reused tokens to prompt tokens, of latencies to the turns that have one. Every
// stretch then counts with the error that it adds to the ratio, (values - ratio x weights) / all weights;
// with equal weights that is the ordinary batch mean. Differences of two settings are paired: the errors of
// the same turns are subtracted stretch by stretch, so that what both share (the same prompts at the same
// time) drops out.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kvcap {

// Sums over stretches of equal length of a sequence of unknown length, in constant memory: when there are
// `most` of them, neighbours are merged and stretches become twice as long.
class Stretches {
 public:
  struct Sums {
    double value = 0, weight = 0;
  };

  // REQUIRES: `most` is even.
  explicit Stretches(int64_t first_length = 1, std::size_t most = 1024);

  void add(double value, double weight = 1);

  // In order; the last one may be shorter than the others.
  const std::vector<Sums>& sums() const { return sums_; }
  int64_t length() const { return length_; }
  bool last_is_whole() const { return in_last_ == length_; }

  // Sum of values / sum of weights; NaN without weights.
  double ratio() const;
  // What every stretch adds to the error of the ratio; they sum to 0. Rounding counts as 0.
  std::vector<double> errors() const;

 private:
  int64_t length_;
  std::size_t most_;
  int64_t in_last_;
  std::vector<Sums> sums_;
};

struct BatchInterval {
  double half_width = std::numeric_limits<double>::quiet_NaN();
  int64_t batches = 0;
};

// Fewer than ten for each of thirty batches are not worth testing.
inline constexpr std::size_t kFewestStretches = 300;

// Half the width of the interval of an estimate, given what consecutive stretches add to its error: NaN where
// there are too few, or where 10 batches are still correlated.
BatchInterval batch_interval(std::span<const double> errors, double confidence = 0.95);

}  // namespace kvcap
