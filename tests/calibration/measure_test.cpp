#include "calibration/measure.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace kvcap::calibration::measure_test {
namespace {

TEST(Measure, ASpreadIsTheDistanceOfTheQuartilesOverTheMedian) {
  const Sample sample = summarize({5, 1, 4, 2, 3});
  EXPECT_EQ(sample.median_s, 3);
  EXPECT_EQ(sample.min_s, 1);
  EXPECT_DOUBLE_EQ(sample.spread, (4 - 2) / 3.0);
  EXPECT_EQ(sample.batches, 5);
}

TEST(Measure, TheIntervalOfAMedianIsBetweenTwoOfTheTimes) {
  std::vector<double> times_s;
  for (int i = 1; i <= 100; ++i) times_s.push_back(i);
  const Sample sample = summarize(times_s);  // 40 and 61: between them is the median in 96 % of all samples
  EXPECT_EQ(sample.low_s, 40);
  EXPECT_EQ(sample.high_s, 61);
  EXPECT_DOUBLE_EQ(sample.half_width(), 21 / 2.0 / 50.5);
  // Of nine times, the median is between the second and the eighth in 96.1 % of all samples; of eight,
  // between the second and the seventh in only 93 %.
  EXPECT_EQ(summarize({1, 2, 3, 4, 5, 6, 7, 8, 9}).low_s, 2);
  EXPECT_EQ(summarize({1, 2, 3, 4, 5, 6, 7, 8, 9}).high_s, 8);
  EXPECT_EQ(summarize({1, 2, 3, 4, 5, 6, 7, 8}).low_s, 1);
  EXPECT_EQ(summarize({1, 2, 3, 4, 5}).low_s, 1);
  EXPECT_EQ(summarize({1, 2, 3, 4, 5}).high_s, 5);
}

// Calls of a millisecond each, in batches of up to 64: a batch takes at least as many milliseconds as it has
// calls, and a call of it far fewer.
TEST(Measure, TheTimeOfABatchIsSharedAmongItsCalls) {
  const std::unique_ptr<Backend> backend = make_cpu_backend();
  Bench bench(*backend);
  const Effort effort{.batches = 3, .batch_s = 0.2, .max_calls = 64};
  const Sample sample =
      bench.time([](Stream&, int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }, effort);
  EXPECT_GE(sample.time_s, 1e-3);
  EXPECT_LT(sample.min_s, 20e-3);
}

}  // namespace
}  // namespace kvcap::calibration::measure_test
