#include "metrics/statistics/series.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace kvcap {
namespace {

constexpr std::size_t kLevelBins = 2048;
constexpr double kFirstWidth_s = 1.0 / (1 << 20);  // a power of two: bin edges stay exact

}  // namespace

void TimeSeries::add_at(double amount, double at_s) {
  if (at_s >= end_s_) grow(at_s);
  last_s_ = std::max(last_s_, at_s);
  partial_[static_cast<std::size_t>(at_s * bins_per_s_)] += amount;
}

void TimeSeries::grow(double to_s) {
  KVCAP_CHECK(to_s >= 0 && to_s < 1e30);
  if (partial_.empty()) {
    partial_.assign(kLevelBins + 1, 0);
    rise_.assign(kLevelBins + 1, 0);
    width_s_ = kFirstWidth_s;
    end_s_ = kLevelBins * width_s_;
  }
  // Moves the contents of rise_ into partial_, so that pairs of neighbouring bins can be merged.
  double rate = 0;
  for (std::size_t k = 0; k <= kLevelBins; ++k) {
    rate += rise_[k];
    if (k < kLevelBins) partial_[k] += rate * width_s_;
    rise_[k] = 0;
  }
  while (to_s > end_s_) {
    for (std::size_t k = 0; k < kLevelBins / 2; ++k) partial_[k] = partial_[2 * k] + partial_[2 * k + 1];
    partial_[kLevelBins / 2] = partial_[kLevelBins];
    std::fill(partial_.begin() + kLevelBins / 2 + 1, partial_.end(), 0.0);
    width_s_ *= 2;
    end_s_ *= 2;
  }
  bins_per_s_ = 1 / width_s_;
}

std::vector<double> TimeSeries::cumulative() const {
  std::vector<double> sums(1, 0.0);
  double rate = 0;
  for (std::size_t k = 0; k < partial_.size(); ++k) {
    rate += rise_[k];
    sums.push_back(sums.back() + partial_[k] + (k < kLevelBins ? rate * width_s_ : 0));
  }
  return sums;
}

double TimeSeries::integral(const std::vector<double>& cumulative, double until_s) const {
  if (until_s >= last_s_) return cumulative.back();
  const double position = until_s * bins_per_s_;
  const auto bin = static_cast<std::size_t>(position);
  // The last bin is filled only up to last_s_.
  const double filled = std::min(1.0, last_s_ * bins_per_s_ - static_cast<double>(bin));
  const double share = (position - static_cast<double>(bin)) / filled;
  return cumulative[bin] + share * (cumulative[bin + 1] - cumulative[bin]);
}

double TimeSeries::integral(double until_s) const { return integral(cumulative(), until_s); }

std::vector<double> TimeSeries::means(int bins, double from_s, double to_s) const {
  const std::vector<double> sums = cumulative();
  const double length_s = to_s - from_s;
  std::vector<double> result;
  double before = integral(sums, from_s), greatest = 0;
  for (int bin = 1; bin <= bins; ++bin) {
    const double now = integral(sums, from_s + length_s * bin / bins);
    result.push_back((now - before) * bins / length_s);
    greatest = std::max(greatest, result.back());
    before = now;
  }
  for (double& mean : result)
    if (mean < 1e-9 * greatest) mean = 0;
  return result;
}

void BinnedMeans::add(double at_s, double value, double weight) {
  const double position = at_s / duration_s_ * static_cast<double>(bins_.size());
  const double last = static_cast<double>(bins_.size()) - 1;
  Bin& bin = bins_[static_cast<std::size_t>(std::clamp(std::floor(position), 0.0, last))];
  bin.sum += value * weight;
  bin.weight += weight;
}

std::vector<double> BinnedMeans::means() const {
  std::vector<double> result;
  result.reserve(bins_.size());
  for (const Bin& bin : bins_) {
    result.push_back(bin.weight > 0 ? bin.sum / bin.weight : std::numeric_limits<double>::quiet_NaN());
  }
  return result;
}

}  // namespace kvcap
