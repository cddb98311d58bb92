#include "workload/generators/draws.h"

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

double normal_correlation(double rank_correlation) {
  return 2 * std::sin(std::acos(-1.0) / 6 * rank_correlation);
}

StyledDraws::StyledDraws(uint64_t seed, const std::string& name, double correlation)
    : style_(seed, name + ".style"),
      noise_(seed, name + ".noise"),
      style_weight_(std::sqrt(correlation)),
      noise_weight_(std::sqrt(1 - correlation)) {}

double StyledDraws::probability(uint64_t session, uint64_t turn) const {
  return normal_cdf(style_weight_ * style_.normal(session) + noise_weight_ * noise_.normal(session, turn));
}

}  // namespace kvcap
