// Named random streams: every consumer draws from its own stream, addressed by name and indices, so that
// a new consumer never shifts an old one and two policies under one seed see the same workload
// (common random numbers). A draw is a pure function of (seed, name, i, j): no state, no order.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvcap {

class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view name);

  // Uniform on the open interval (0, 1); `i` and `j` say which draw, e.g. session and turn.
  double uniform(uint64_t i, uint64_t j = 0) const;
  // Standard normal, by inversion of the normal distribution function (Acklam's rational approximation,
  // relative error below 1.2e-9).
  double normal(uint64_t i, uint64_t j = 0) const;
  // Exponential with mean 1.
  double exponential(uint64_t i, uint64_t j = 0) const;
  // Gamma with the given shape and mean 1 (Marsaglia and Tsang 2000). Requires shape > 0.
  double gamma(double shape, uint64_t i, uint64_t j = 0) const;
  // Student's t with `freedom` degrees of freedom, scaled to variance 1 (Bailey 1994). Requires freedom > 2.
  double student_t(double freedom, uint64_t i, uint64_t j = 0) const;

 private:
  uint64_t key_;
};

// Standard normal distribution function and its inverse, 0 < p < 1.
double normal_cdf(double x);
double normal_quantile(double p);

}  // namespace kvcap
