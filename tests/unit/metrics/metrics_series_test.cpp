#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "metrics/statistics/series.h"

namespace kvcap::metrics_series_test {
namespace {

TEST(TimeSeries, MeansOfBinsFollowAStep) {
  TimeSeries series;
  series.add(3, 0, 50);
  series.add(5, 50, 100);
  const auto means = series.means(10, 100);
  for (int bin = 0; bin < 10; ++bin) EXPECT_NEAR(means[bin], bin < 5 ? 3 : 5, 0.06) << bin;
  // Exact but for the one inner bin of width 1/16 s that the step falls into.
  EXPECT_DOUBLE_EQ(series.integral(100), 3 * 50 + 5 * 50);
}

TEST(TimeSeries, KeepsTheIntegralWhenTheRunOutgrowsItsBins) {
  TimeSeries series;
  double expected = 0, now_s = 0;
  for (int i = 0; i < 4000; ++i) {  // from microseconds to days
    const double length_s = 1e-6 * std::pow(1.007, i);
    const double rate = 1 + i % 7;
    series.add(rate, now_s, now_s + length_s);
    expected += rate * length_s;
    now_s += length_s;
  }
  EXPECT_GT(now_s, 86400);
  EXPECT_NEAR(series.integral(now_s) / expected, 1, 1e-9);
  const auto means = series.means(200, now_s);
  const double sum = std::accumulate(means.begin(), means.end(), 0.0) * now_s / 200;
  EXPECT_NEAR(sum / expected, 1, 1e-9);
}

TEST(TimeSeries, OverlappingAndLateStretchesAddUp) {
  TimeSeries series;
  series.add(1, 2, 6);
  series.add(0.5, 4, 8);
  series.add(2, 0, 1);  // earlier than what is there
  series.add_at(3, 7.5);
  EXPECT_DOUBLE_EQ(series.integral(2), 2);
  EXPECT_DOUBLE_EQ(series.integral(4), 2 + 2);
  EXPECT_DOUBLE_EQ(series.integral(6), 2 + 4 + 1);
  EXPECT_NEAR(series.integral(8), 2 + 4 + 2 + 3, 1e-12);
}

TEST(TimeSeries, AStretchToTheExactEndOfTheBinsFits) {
  TimeSeries series;
  series.add(1, 0, 2048.0);  // a power of two: the last bin's end
  series.add(1, 0, 2048.0);
  series.add_at(5, 2048.0);
  series.add(1, 2048.0, 4096.0);
  EXPECT_DOUBLE_EQ(series.integral(4096), 2 * 2048 + 5 + 2048);
}

TEST(TimeSeries, WithoutAnythingIsZero) {
  const TimeSeries series;
  EXPECT_EQ(series.integral(10), 0);
  EXPECT_EQ(series.means(3, 10), (std::vector<double>{0, 0, 0}));
}

TEST(TimeSeries, LeavesNoRoundingBehindWhenAQuantityReturnsToZero) {
  TimeSeries series;
  for (int i = 0; i < 1000; ++i) series.add(1e12 / 3 + i * 0.1, i, i + 31.7);
  series.add(0, 1040, 2000);
  series.add(1e-3, 1999, 2000);  // the run goes on
  const auto means = series.means(100, 2000);
  for (int bin = 60; bin < 99; ++bin) EXPECT_EQ(means[bin], 0) << bin;
}

TEST(TimeSeries, MeansOfAWindowLeaveOutWhatIsBeforeAndBehind) {
  TimeSeries series;
  series.add(100, 0, 16);
  series.add(3, 16, 32);
  series.add(5, 32, 48);
  series.add(100, 48, 64);
  EXPECT_EQ(series.means(2, 16, 48), (std::vector<double>{3, 5}));
  EXPECT_EQ(series.integral(16, 48), 16 * 3 + 16 * 5);
}

TEST(BinnedMeans, WeighsTheValuesOfEachBin) {
  BinnedMeans means(4, 8);
  means.add(0, 1, 3);
  means.add(1.9, 5, 1);
  means.add(6, 7);
  means.add(8, 9);  // at the end: the last bin's
  const std::vector<double> result = means.means();
  EXPECT_EQ(result[0], (1 * 3 + 5) / 4.0);
  EXPECT_TRUE(std::isnan(result[1]));
  EXPECT_TRUE(std::isnan(result[2]));
  EXPECT_EQ(result[3], 8);
}

}  // namespace
}  // namespace kvcap::metrics_series_test
