// What generators share: weighted choices and lengths with a given mean and spread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvcap {

// Index i with probability weights[i] / their sum.
class Weighted {
 public:
  explicit Weighted(const std::vector<double>& weights);
  // REQUIRES: 0 < uniform < 1.
  std::size_t at(double uniform) const;

 private:
  std::vector<double> cumulative_;
};

// Weights of `count` items: the k-th, from 1, is k^-alpha.
std::vector<double> zipf_weights(double alpha, std::size_t count);

// Lognormal with the given mean and coefficient of variation, from a standard normal z.
double lognormal(double mean, double cv, double z);
// The same rounded, at least `least`.
uint32_t lognormal_tokens(double mean, double cv, double z, uint32_t least = 1);

}  // namespace kvcap
