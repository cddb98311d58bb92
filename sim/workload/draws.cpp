#include "workload/draws.h"

#include <algorithm>
#include <cmath>

namespace kvcap {

Weighted::Weighted(const std::vector<double>& weights) {
  double sum = 0;
  for (double weight : weights) cumulative_.push_back(sum += weight);
}

std::size_t Weighted::at(double uniform) const {
  const auto found =
      std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, uniform * cumulative_.back());
  return static_cast<std::size_t>(found - cumulative_.begin());
}

std::vector<double> zipf_weights(double alpha, std::size_t count) {
  std::vector<double> weights(count);
  for (std::size_t k = 0; k < count; ++k) weights[k] = std::pow(static_cast<double>(k + 1), -alpha);
  return weights;
}

// exp(mu + sigma z) has mean exp(mu + sigma^2/2) and cv^2 = exp(sigma^2) - 1.
double lognormal(double mean, double cv, double z) {
  const double variance = std::log1p(cv * cv);
  return mean * std::exp(std::sqrt(variance) * z - variance / 2);
}

uint32_t lognormal_tokens(double mean, double cv, double z, uint32_t least) {
  return std::max(least, static_cast<uint32_t>(std::llround(lognormal(mean, cv, z))));
}

}  // namespace kvcap
