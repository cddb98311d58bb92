#include "metrics/statistics/batch_means.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "metrics/statistics/intervals.h"
#include "metrics/turn_means.h"

namespace kvcap::batch_means_test {
namespace {

TEST(Stretches, KeepTheSumsOfAnyLengthInConstantMemory) {
  Stretches stretches(1, 8);
  for (int i = 1; i <= 8; ++i) stretches.add(i);
  EXPECT_EQ(stretches.sums().size(), 8u);
  stretches.add(9);  // 1+2, 3+4, 5+6, 7+8, 9
  ASSERT_EQ(stretches.sums().size(), 5u);
  EXPECT_EQ(stretches.length(), 2);
  EXPECT_FALSE(stretches.last_is_whole());
  EXPECT_EQ(stretches.sums()[0].value, 3);
  EXPECT_EQ(stretches.sums()[3].value, 15);
  EXPECT_EQ(stretches.sums()[4].value, 9);
  stretches.add(10);
  EXPECT_TRUE(stretches.last_is_whole());
  EXPECT_EQ(stretches.sums()[4].value, 19);
  for (int i = 11; i <= 100'000; ++i) stretches.add(i);
  EXPECT_LE(stretches.sums().size(), 8u);
  EXPECT_DOUBLE_EQ(stretches.ratio(), 100'001 / 2.0);
}

TEST(Stretches, AddUpToARatioAndErrorsThatCancel) {
  Stretches stretches;
  stretches.add(1, 10);
  stretches.add(0, 0);  // no such turn
  stretches.add(8, 20);
  EXPECT_DOUBLE_EQ(stretches.ratio(), 9 / 30.0);
  const std::vector<double> errors = stretches.errors();
  EXPECT_DOUBLE_EQ(errors[0], (1 - 0.3 * 10) / 30);
  EXPECT_EQ(errors[1], 0);
  EXPECT_DOUBLE_EQ(errors[2], (8 - 0.3 * 20) / 30);
  EXPECT_TRUE(std::isnan(Stretches().ratio()));
}

TEST(BatchInterval, IsThatOfThirtyMeansWhereThoseAreIndependent) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise;
  Stretches stretches;
  std::vector<double> batches(30, 0);
  for (int i = 0; i < 900; ++i) {
    const double value = noise(random);
    stretches.add(value);
    batches[static_cast<std::size_t>(i / 30)] += value / 30;
  }
  const BatchInterval interval = batch_interval(stretches.errors());
  ASSERT_EQ(interval.batches, 30);
  EXPECT_NEAR(interval.half_width, mean_interval(batches).half_width, 1e-12);
}

TEST(BatchInterval, IsZeroForWhatNeverChangesAndUnknownForWhatIsShort) {
  Stretches same, few;
  for (int i = 0; i < 500; ++i) same.add(0.1);
  for (int i = 0; i < 299; ++i) few.add(i % 7);
  EXPECT_EQ(batch_interval(same.errors()).half_width, 0);
  EXPECT_TRUE(std::isnan(batch_interval(few.errors()).half_width));
  EXPECT_EQ(batch_interval(few.errors()).batches, 0);
}

TEST(BatchInterval, IsUnknownWhereTheLongestBatchesStayCorrelated) {
  Stretches drifts;
  for (int i = 0; i < 5000; ++i) drifts.add(i);
  EXPECT_TRUE(std::isnan(batch_interval(drifts.errors()).half_width));
}

// Shares of 200 sequences: how many intervals hold the true mean, of those that there are; how many there
// are.
struct Coverage {
  double held = 0, known = 0;
};
Coverage coverage(double mean, int length,
                  const std::function<std::function<double()>(uint64_t seed)>& make) {
  constexpr int kSeeds = 200;
  int known = 0, held = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::function<double()> next = make(seed);
    Stretches stretches;
    for (int i = 0; i < length; ++i) stretches.add(next());
    const BatchInterval interval = batch_interval(stretches.errors());
    if (interval.batches == 0) continue;
    ++known;
    held += std::abs(stretches.ratio() - mean) <= interval.half_width;
  }
  return {static_cast<double>(held) / known, static_cast<double>(known) / kSeeds};
}

TEST(BatchInterval, HoldsTheMeanOfAnAutoregressionInNineteenOfTwentyRuns) {
  // x' = 0.9 x + noise: the standard error of the mean is sqrt(19) = 4.4 times that of independent values.
  const Coverage found = coverage(5, 4000, [](uint64_t seed) {
    return [random = std::mt19937_64(seed), noise = std::normal_distribution<double>(), x = 0.0]() mutable {
      x = 0.9 * x + noise(random);
      return 5 + x;
    };
  });
  EXPECT_GE(found.held, 0.90);
  EXPECT_LE(found.held, 0.99);
  EXPECT_GE(found.known, 0.95);
}

TEST(BatchInterval, HoldsTheMeanWaitOfAQueue) {
  // M/M/1 at load 0.8: mean wait load / (1 - load) = 4 services (Lindley's recursion from its steady state).
  const Coverage found = coverage(4, 20000, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> gap(0.8), service(1), steady(0.2);
    const double start = std::uniform_real_distribution<double>()(random) < 0.8 ? steady(random) : 0.0;
    return [random, gap, service, wait = start]() mutable {
      const double waited = wait;
      wait = std::max(0.0, wait + service(random) - gap(random));
      return waited;
    };
  });
  EXPECT_GE(found.held, 0.85);
  EXPECT_LE(found.held, 0.99);
  EXPECT_GE(found.known, 0.90);
}

// `count` turns of one session each whose TTFT is that of the prompt and `more` on top.
std::vector<TurnRecord> turns(uint32_t count, double more_s, double spread_s, uint64_t seed) {
  std::mt19937_64 prompts(7), own(seed);
  std::exponential_distribution<double> prompt(1);
  std::normal_distribution<double> noise(0, 1);
  std::vector<TurnRecord> turns(count);
  for (uint32_t i = 0; i < count; ++i) {
    turns[i].session = i;
    turns[i].input_tokens = 100;
    turns[i].output_tokens = 10;
    turns[i].arrival_s = i;
    turns[i].ttft_s = prompt(prompts) + more_s + spread_s * noise(own);
  }
  return turns;
}

double mean_ms(const std::vector<TurnRecord>& turns) {
  double sum_s = 0;
  for (const TurnRecord& turn : turns) sum_s += turn.ttft_s;
  return 1e3 * sum_s / static_cast<double>(turns.size());
}

TEST(PairedTurns, DropWhatBothSettingsShare) {
  const auto against = turns(2000, 0.2, 0.01, 1), setting = turns(2000, 0.1, 0.01, 2);
  const std::vector<Interval> alone = batch_intervals(setting);
  ASSERT_EQ(alone[0].name, "mean_ttft_ms");
  EXPECT_EQ(alone[0].method, IntervalMethod::batch_means);
  EXPECT_GT(alone[0].half_width, 30);  // 1,000 ms of prompts over the root of 2,000, twice
  const BatchInterval paired = PairedTurns(against, setting).interval("mean_ttft_ms");
  const double difference_ms = mean_ms(setting) - mean_ms(against);
  EXPECT_LT(paired.half_width, 1.5);  // 10 ms of noise each: 14 / sqrt(2,000) = 0.32, about twice
  EXPECT_NEAR(difference_ms, -100, 2 * paired.half_width);
  EXPECT_TRUE(std::isnan(PairedTurns(against, setting).interval("p99_ttft_ms").half_width));
}

TEST(PairedTurns, AreFoundInWhateverOrderTheSettingServedThem) {
  const auto against = turns(500, 0.2, 0.01, 1);
  auto setting = turns(500, 0.1, 0.01, 2);
  const double half_width = PairedTurns(against, setting).interval("mean_ttft_ms").half_width;
  std::reverse(setting.begin(), setting.end());
  EXPECT_EQ(PairedTurns(against, setting).interval("mean_ttft_ms").half_width, half_width);
}

TEST(PairedTurns, TellNothingOfOtherWorkloads) {
  const auto against = turns(500, 0.2, 0.01, 1);
  auto other = against, later = against, fewer = against;
  other[3].input_tokens = 7;
  later[3].arrival_s += 1;
  fewer.pop_back();
  EXPECT_EQ(PairedTurns(against, against).interval("mean_ttft_ms").half_width, 0);
  for (const auto* setting : {&other, &later, &fewer})
    EXPECT_TRUE(std::isnan(PairedTurns(against, *setting).interval("mean_ttft_ms").half_width));
}

}  // namespace
}  // namespace kvcap::batch_means_test
