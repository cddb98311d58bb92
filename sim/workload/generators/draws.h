// Random draws that several generators use: weighted choices, lengths with a given mean and spread, and draws
// that are correlated within a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"

namespace kvcap {

// Weighted choice of an index: i has the probability weights[i] / (sum of all weights).
class Weighted {
 public:
  explicit Weighted(const std::vector<double>& weights);
  // REQUIRES: 0 < uniform < 1.
  std::size_t at(double uniform) const;

 private:
  std::vector<double> cumulative_;
};

// Returns the weights of `count` items: item k, counted from 1, has the weight k^-alpha.
std::vector<double> zipf_weights(double alpha, std::size_t count);

// Returns a lognormal value with the given mean and coefficient of variation, from a standard normal z.
double lognormal(double mean, double cv, double z);
// Returns the lognormal value rounded, at least `least`.
uint32_t lognormal_tokens(double mean, double cv, double z, uint32_t least = 1);

// Returns the Pearson correlation of normal variables with the given rank correlation.
double normal_correlation(double rank_correlation);

// Probabilities per turn that are correlated within a session (a one-factor Gaussian copula): Phi(sqrt(r)
// style + sqrt(1 - r) noise), where r is the normal_correlation of two turns of a session.
class StyledDraws {
 public:
  StyledDraws(uint64_t seed, const std::string& name, double correlation);
  double probability(uint64_t session, uint64_t turn) const;

 private:
  RandomStream style_, noise_;
  double style_weight_, noise_weight_;
};

}  // namespace kvcap
