// RandomStream: a named random stream. Each consumer draws from its own stream, addressed by name and
// indices, so that a new consumer does not change the draws of others, and two policies with the same seed
// see the same workload (common random numbers). A draw is a pure function of (seed, name, i, j), without
// state or order.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvcap {

class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view name);

  // Returns a uniform number in the open interval (0, 1); `i` and `j` identify the draw, e.g. session and
  // turn.
  double uniform(uint64_t i, uint64_t j = 0) const;
  // Returns a standard normal number, by inversion of the distribution function (Acklam's rational
  // approximation, relative error below 1.2e-9).
  double normal(uint64_t i, uint64_t j = 0) const;
  // Returns an exponential number with mean 1.
  double exponential(uint64_t i, uint64_t j = 0) const;
  // Returns a gamma number with the given shape and mean 1 (Marsaglia and Tsang 2000). REQUIRES: shape > 0.
  double gamma(double shape, uint64_t i, uint64_t j = 0) const;
  // Returns Student's t with `freedom` degrees of freedom, scaled to variance 1 (Bailey 1994). REQUIRES:
  // freedom > 2.
  double student_t(double freedom, uint64_t i, uint64_t j = 0) const;

 private:
  uint64_t key_;
};

// The standard normal distribution function and its inverse. REQUIRES: 0 < p < 1.
double normal_cdf(double x);
double normal_quantile(double p);

}  // namespace kvcap
