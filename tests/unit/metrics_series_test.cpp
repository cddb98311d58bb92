#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "metrics/series.h"
#include "metrics/stability.h"

namespace kvcap {
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

TEST(Stability, ALineThatGrowsIsUnstableAndAConstantOneIsNot) {
  TimeSeries growing, constant, bump;
  for (int s = 0; s < 1000; ++s) {
    growing.add(s / 10.0, s, s + 1);
    constant.add(40 + s % 3, s, s + 1);
    bump.add(s > 400 && s < 700 ? 300 : 1, s, s + 1);  // a rush in the middle that is served
  }
  EXPECT_TRUE(queue_grew(growing, 1000, 1000));
  EXPECT_FALSE(queue_grew(constant, 1000, 1000));
  EXPECT_FALSE(queue_grew(bump, 1000, 1000));
  EXPECT_FALSE(queue_grew(growing, 0, 1));  // all at once: no window to judge
}

TEST(Stability, GrowthWithinChanceIsNotCalledUnstable) {
  TimeSeries slow;  // to 10 waiting over 10,000 sessions, chance alone makes 100
  for (int s = 0; s < 1000; ++s) slow.add(s / 100.0, s, s + 1);
  EXPECT_FALSE(queue_grew(slow, 1000, 10000));
  EXPECT_TRUE(queue_grew(slow, 1000, 25));
}

// One server, Poisson arrivals at rate 1, exponential service with mean `load`: number waiting (M/M/1).
bool mm1_grew(double load, uint64_t seed, int customers) {
  const RandomStream arrivals(seed, "arrivals"), services(seed, "services");
  TimeSeries waiting;
  double arrival_s = 0, free_s = 0;
  for (int i = 0; i < customers; ++i) {
    arrival_s += arrivals.exponential(i);
    const double start_s = std::max(arrival_s, free_s);
    waiting.add(1, arrival_s, start_s);
    free_s = start_s + load * services.exponential(i);
  }
  return queue_grew(waiting, arrival_s, customers);
}

TEST(Stability, ALongLineThatGrowsByATenthIsNotCalledUnstable) {
  const auto grew = [](double third, double fourth) {
    TimeSeries waiting;
    waiting.add(100, 0, 2);
    waiting.add(third, 2, 3);
    waiting.add(fourth, 3, 4);
    return queue_grew(waiting, 4, 4);
  };
  EXPECT_FALSE(grew(105, 110));
  EXPECT_TRUE(grew(130, 160));  // by half
}

TEST(Stability, TellsOverloadedFromBusyQueues) {
  int grew_at_080 = 0, grew_at_090 = 0, grew_at_115 = 0, grew_at_130 = 0;
  constexpr int kSeeds = 50;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    grew_at_080 += mm1_grew(0.80, seed, 2000);
    grew_at_090 += mm1_grew(0.90, seed, 2000);
    grew_at_115 += mm1_grew(1.15, seed, 2000);
    grew_at_130 += mm1_grew(1.30, seed, 2000);
  }
  EXPECT_EQ(grew_at_080, 0);
  EXPECT_LE(grew_at_090, 1);
  EXPECT_GE(grew_at_115, kSeeds - 2);
  EXPECT_EQ(grew_at_130, kSeeds);
}

TEST(Stability, IsLostWhenTheQueueStartsToGrowLate) {
  TimeSeries waiting;
  // nobody waits in the first half, then the line grows to 200
  for (int t = 0; t < 100; ++t) waiting.add(t < 50 ? 0.0 : 4.0 * (t - 50), t, t + 1);
  EXPECT_TRUE(queue_grew(waiting, 100, 400));
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
}  // namespace kvcap
