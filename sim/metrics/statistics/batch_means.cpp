#include "metrics/statistics/batch_means.h"

#include <cmath>
#include <numeric>

#include "base/check.h"
#include "metrics/statistics/intervals.h"

namespace kvcap {
namespace {

constexpr std::size_t kBatches[] = {30, 20, 15, 10};
constexpr double kNormal90 = 1.2815515655446004;  // 0.9 quantile of the normal distribution
constexpr double kBatchRounding = 1e-12;

std::vector<double> batches_of(std::span<const double> errors, std::size_t count) {
  std::vector<double> batches(count, 0);
  for (std::size_t i = 0; i < errors.size(); ++i) batches[i * count / errors.size()] += errors[i];
  return batches;
}

double squares(std::span<const double> values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

// Their mean is 0. Independent batches have a correlation of mean 0 and variance (n - 2) / (n^2 - 1).
bool look_independent(std::span<const double> batches, double sum_of_squares) {
  const auto n = static_cast<double>(batches.size());
  double steps = 0;
  for (std::size_t i = 1; i < batches.size(); ++i)
    steps += (batches[i] - batches[i - 1]) * (batches[i] - batches[i - 1]);
  const double correlation = 1 - steps / (2 * sum_of_squares);
  return correlation <= kNormal90 * std::sqrt((n - 2) / (n * n - 1));
}

}  // namespace

Stretches::Stretches(int64_t first_length, std::size_t most)
    : length_(first_length), most_(most), in_last_(first_length) {
  KVCAP_CHECK(first_length >= 1 && most >= 2 && most % 2 == 0);
}

void Stretches::add(double value, double weight) {
  if (in_last_ == length_) {
    if (sums_.size() == most_) {
      for (std::size_t i = 0; i < most_ / 2; ++i)
        sums_[i] = {sums_[2 * i].value + sums_[2 * i + 1].value,
                    sums_[2 * i].weight + sums_[2 * i + 1].weight};
      sums_.resize(most_ / 2);
      length_ *= 2;
    }
    sums_.emplace_back();
    in_last_ = 0;
  }
  sums_.back().value += value;
  sums_.back().weight += weight;
  ++in_last_;
}

double Stretches::ratio() const {
  Sums all;
  for (const Sums& one : sums_) all = {all.value + one.value, all.weight + one.weight};
  return all.value / all.weight;
}

std::vector<double> Stretches::errors() const {
  const double mean = ratio();
  double weight = 0;
  for (const Sums& one : sums_) weight += one.weight;
  std::vector<double> errors;
  errors.reserve(sums_.size());
  for (const Sums& one : sums_) {
    const double error = one.value - mean * one.weight;
    errors.push_back(std::abs(error) <= kBatchRounding * std::abs(one.value) ? 0 : error / weight);
  }
  return errors;
}

BatchInterval batch_interval(std::span<const double> errors, double confidence) {
  if (errors.size() < kFewestStretches) return {};
  for (std::size_t count : kBatches) {
    const std::vector<double> batches = batches_of(errors, count);
    const double sum_of_squares = squares(batches);
    const auto n = static_cast<double>(count);
    if (sum_of_squares > 0 && !look_independent(batches, sum_of_squares)) continue;
    // The estimate's error is the sum of n errors of variance sum_of_squares / (n - 1).
    const double deviation = std::sqrt(sum_of_squares * n / (n - 1));
    return {student_t_quantile(0.5 + 0.5 * confidence, static_cast<int>(count) - 1) * deviation,
            static_cast<int64_t>(count)};
  }
  return {};
}

}  // namespace kvcap
