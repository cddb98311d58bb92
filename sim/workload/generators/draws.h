// What generators share: weighted choices, lengths with a given mean and spread, and draws that the turns of
// a session have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"

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

// Pearson correlation of normals whose rank correlation is given.
double normal_correlation(double rank_correlation);

// A probability for each turn, with a style of its session in it (a one-factor Gaussian copula):
// Phi(sqrt(r) style + sqrt(1 - r) noise), r: normal_correlation of two turns of a session.
class StyledDraws {
 public:
  StyledDraws(uint64_t seed, const std::string& name, double correlation);
  double probability(uint64_t session, uint64_t turn) const;

 private:
  RandomStream style_, noise_;
  double style_weight_, noise_weight_;
};

}  // namespace kvcap
