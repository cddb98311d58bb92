#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "metrics/statistics/histogram.h"
#include "metrics/statistics/intervals.h"
#include "metrics/statistics/quantiles.h"

namespace kvcap::metrics_quantiles_test {
namespace {

TEST(Quantile, InterpolatesBetweenOrderStatisticsAsNumpyDoes) {
  const std::vector<double> values = {10, 20, 40, 80};
  // position = q (4 - 1): 0.5 -> 1.5, 0.9 -> 2.7, 0.25 -> 0.75
  EXPECT_DOUBLE_EQ(quantile_of_sorted(values, 0.5), 20 + 0.5 * 20);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(values, 0.9), 40 + 0.7 * 40);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(values, 0.25), 10 + 0.75 * 10);
  EXPECT_EQ(quantile_of_sorted(values, 0), 10);
  EXPECT_EQ(quantile_of_sorted(values, 1), 80);
}

TEST(Quantile, OfOneValueIsThatValueAndOfNoneIsNaN) {
  EXPECT_EQ(quantile_of_sorted(std::vector<double>{7.0}, 0.99), 7);
  EXPECT_TRUE(std::isnan(quantile_of_sorted(std::vector<double>{}, 0.5)));
}

TEST(Quantile, DescriptionGivesMeanPopulationStdAndPercentiles) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);  // 0 .. 100: the q-quantile is 100 q
  const Distribution d = describe(values);
  EXPECT_DOUBLE_EQ(d.mean, 50);
  EXPECT_DOUBLE_EQ(d.median, 50);
  // sum over i of (i - 50)^2 = 2 (50 51 101 / 6) = 85850; / 101 = 850
  EXPECT_DOUBLE_EQ(d.std, std::sqrt(850.0));
  EXPECT_NEAR(d.p90, 90, 1e-12);
  EXPECT_NEAR(d.p95, 95, 1e-12);
  EXPECT_NEAR(d.p99, 99, 1e-12);
  ASSERT_EQ(d.quantiles.size(), 99u);
  for (int i = 1; i <= 99; ++i) EXPECT_NEAR(d.quantiles[i - 1], i, 1e-12);
}

TEST(Quantile, DescriptionOfNothingIsNaN) {
  std::vector<double> nothing;
  const Distribution d = describe(nothing);
  EXPECT_TRUE(std::isnan(d.mean) && std::isnan(d.std) && std::isnan(d.p99));
  EXPECT_EQ(d.quantiles.size(), 99u);
}

// Deterministic lognormal-like gaps from 0.1 ms to about 1 s, in pseudo-random order.
std::vector<double> random_gaps(int count) {
  std::vector<double> gaps;
  uint64_t state = 12345;
  for (int i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const double u = static_cast<double>(state >> 11) * 0x1p-53;
    gaps.push_back(1e-4 * std::exp(9.2 * u * u));
  }
  return gaps;
}

TEST(GapHistogram, QuantilesAreWithinAQuarterPercentOfTheExactOnes) {
  std::vector<double> gaps = random_gaps(20000);
  GapHistogram histogram;
  for (double gap : gaps) histogram.add(gap, 1);
  std::sort(gaps.begin(), gaps.end());
  double worst = 0;
  for (int permille = 0; permille <= 1000; ++permille) {
    const double exact = quantile_of_sorted(gaps, permille / 1000.0);
    worst = std::max(worst, std::abs(histogram.quantile_s(permille / 1000.0) / exact - 1));
  }
  EXPECT_LE(worst, 0.0025);
  EXPECT_GT(worst, 0);  // it is a histogram, after all
}

TEST(GapHistogram, DescribesEveryPercentileInMilliseconds) {
  GapHistogram histogram;
  for (int gap_ms = 1; gap_ms <= 101; ++gap_ms) histogram.add(1e-3 * gap_ms, 1);
  const Distribution described = histogram.describe_ms();
  EXPECT_NEAR(described.median, 51, 0.2);
  EXPECT_NEAR(described.p90, 91, 0.3);
  EXPECT_NEAR(described.p95, 96, 0.3);
  EXPECT_NEAR(described.p99, 100, 0.3);
}

TEST(GapHistogram, MeanAndStdAreExact) {
  std::vector<double> gaps = random_gaps(5000);
  GapHistogram histogram;
  for (double gap : gaps) histogram.add(gap, 1);
  const Distribution exact = describe(gaps);
  EXPECT_NEAR(histogram.mean_s() / exact.mean, 1, 1e-12);
  EXPECT_NEAR(histogram.std_s() / exact.std, 1, 1e-10);
}

TEST(GapHistogram, StdOfEqualGapsIsZero) {
  GapHistogram histogram;
  for (int i = 0; i < 1000; ++i) histogram.add(0.0312345, 17);
  EXPECT_NEAR(histogram.std_s(), 0, 1e-15);
  EXPECT_NEAR(histogram.quantile_s(0.5), 0.0312345, 1e-18);  // never outside the range seen
}

void expect_ramp_equals_single_adds(double first_s, double growth_s, int64_t steps, int64_t each) {
  GapHistogram ramp, single;
  ramp.add(0.02, 3);
  single.add(0.02, 3);
  ramp.add_ramp(first_s, growth_s, steps, each);
  for (int64_t i = 0; i < steps; ++i) single.add(first_s + static_cast<double>(i) * growth_s, each);
  ASSERT_EQ(ramp.count(), single.count());
  EXPECT_NEAR(ramp.mean_s() / single.mean_s(), 1, 1e-12);
  EXPECT_NEAR(ramp.std_s(), single.std_s(), 1e-9 * single.mean_s());
  for (int permille = 0; permille <= 1000; ++permille)
    EXPECT_EQ(ramp.quantile_s(permille / 1000.0), single.quantile_s(permille / 1000.0))
        << first_s << " + i " << growth_s << " at " << permille;
}

TEST(GapHistogram, ARampEqualsTheSumOfItsSingleGaps) {
  expect_ramp_equals_single_adds(0.025, 1.7e-7, 4000, 13);      // many steps a bin
  expect_ramp_equals_single_adds(0.025, 3e-3, 500, 2);          // many bins a step
  expect_ramp_equals_single_adds(0.03125, 1.0 / 8192, 300, 1);  // steps that hit bin edges exactly
  expect_ramp_equals_single_adds(0.01, 0, 100, 4);
  expect_ramp_equals_single_adds(0.01, 1e-19, 100, 4);  // growth below the last digit
  expect_ramp_equals_single_adds(0.01, 1e-5, 1, 4);
  expect_ramp_equals_single_adds(0, 1e-10, 100, 1);  // through the bin of the shortest gaps
}

TEST(GapHistogram, AFallingRampIsTheRisingOneBackwards) {
  GapHistogram falling, rising;
  falling.add_ramp(0.5, -1.0 / 1024, 257, 1);
  rising.add_ramp(0.25, 1.0 / 1024, 257, 1);
  EXPECT_EQ(falling.quantile_s(0.3), rising.quantile_s(0.3));
  EXPECT_DOUBLE_EQ(falling.mean_s(), 0.375);
}

TEST(GapHistogram, LongRampsCostTheBinsTheyTouch) {
  GapHistogram histogram;
  histogram.add_ramp(0.01, 1e-14, int64_t{1'000'000'000'000}, 1);  // 1e12 steps, 10 ms to 20 ms
  EXPECT_NEAR(histogram.quantile_s(0.5), 0.015, 0.015 * 0.0025);
  EXPECT_NEAR(histogram.std_s(), 0.01 / std::sqrt(12.0), 1e-9);
}

TEST(StudentT, QuantilesAreThoseOfTheTables) {
  // Two-sided 95 %, from printed tables (three decimals).
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 3), 3.182, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.776, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 5), 2.571, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 9), 2.262, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 10), 2.228, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 29), 2.045, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 120), 1.980, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.95, 7), 1.895, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.995, 6), 3.707, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.025, 5), -2.571, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.5, 3), 0, 1e-12);
  // Exact forms: tan(pi (p - 1/2)) for one degree, (2p - 1) sqrt(2 / (1 - (2p - 1)^2)) for two.
  EXPECT_NEAR(student_t_quantile(0.9, 1), std::tan(0.4 * M_PI), 1e-11);
  EXPECT_NEAR(student_t_quantile(0.9, 2), 0.8 * std::sqrt(2 / (1 - 0.64)), 1e-11);
}

TEST(MeanInterval, IsTheMeanAndTTimesItsStandardError) {
  const std::vector<double> values = {10, 12, 17};
  const MeanInterval interval = mean_interval(values);
  EXPECT_DOUBLE_EQ(interval.mean, 13);
  // sample variance (9 + 1 + 16) / 2 = 13; error sqrt(13 / 3); t(0.975, 2) = 4.30265
  EXPECT_NEAR(interval.half_width, 4.302653 * std::sqrt(13.0 / 3), 1e-5);
  EXPECT_TRUE(std::isnan(mean_interval(std::vector<double>{5.0}).half_width));
  // t(0.995, 2) = 9.92484
  EXPECT_NEAR(mean_interval(values, 0.99).half_width, 9.924843 * std::sqrt(13.0 / 3), 1e-5);
}

}  // namespace
}  // namespace kvcap::metrics_quantiles_test
