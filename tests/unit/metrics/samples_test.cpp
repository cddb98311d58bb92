// What pairs a result with another of the same workload.
#include "metrics/samples.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "metrics/statistics/batch_means.h"
#include "metrics/turn_means.h"
#include "unit/recorded_turns.h"

namespace kvcap {
namespace {

// Turns with a common luck of each, `extra_s` slower; `own`: what is chance of one run alone.
std::vector<TurnRecord> turns_of(double extra_s, double own) {
  std::mt19937 random(1);
  std::vector<TurnRecord> turns;
  for (uint32_t session = 0; session < 400; ++session) {
    for (uint32_t number = 0; number < 3; ++number) {
      const double luck_s = std::exponential_distribution<double>(1)(random);
      const double own_s = 1e-3 * static_cast<double>(random() % 100) * own;
      turns.push_back(turn(session, number, session + 0.1 * number, luck_s + own_s + extra_s));
    }
  }
  return turns;
}

TEST(Samples, PairTheTurnsOfTwoSingleRuns) {
  const std::vector<TurnRecord> before = turns_of(0, 1), after = turns_of(0.2, 2);
  const double paired_ms =
      paired_half_width(samples_of_turns(before), samples_of_turns(after), "mean_ttft_ms");
  // As compare does, from twice the stretches.
  EXPECT_NEAR(paired_ms, PairedTurns(before, after).interval("mean_ttft_ms").half_width, 0.3 * paired_ms);
  EXPECT_LT(paired_ms, 0.2 * batch_intervals(before)[0].half_width);
}

TEST(Samples, OfOtherTurnsOrMetricsDoNotPair) {
  const NamedSeries one = samples_of_turns(turns_of(0, 1));
  std::vector<TurnRecord> fewer = turns_of(0, 1);
  fewer.pop_back();
  EXPECT_TRUE(std::isnan(paired_half_width(one, samples_of_turns(fewer), "mean_ttft_ms")));
  EXPECT_TRUE(std::isnan(paired_half_width(one, one, "p99_ttft_ms")));
  EXPECT_TRUE(std::isnan(paired_half_width({}, {}, "mean_ttft_ms")));
  fewer.resize(kFewestStretches - 1);
  EXPECT_EQ(samples_of_turns(fewer).size(), 1U) << "too few for an interval";
}

TEST(Samples, OfSeveralRunsAreTheirValues) {
  std::vector<RunResult> runs(2);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].turn_count = 7 + static_cast<int64_t>(i);
    runs[i].metrics = {{"p99_ttft_ms", 10.0 * static_cast<double>(i + 1)}, {"duration", 5.0}};
  }
  EXPECT_EQ(samples_of_runs(runs), (NamedSeries{{"turns", {7, 8}}, {"p99_ttft_ms", {10, 20}}}));
}

// Differences of 1 and 3 ms: 2 +- 12.7 ms (t of one degree of freedom) x sqrt(2) / sqrt(2).
TEST(Samples, OfSeedsPairHoweverLongTheirRunsAre) {
  const NamedSeries shorter = {{"turns", {7, 8}}, {"p99_ttft_ms", {10, 20}}};
  const NamedSeries longer = {{"turns", {14, 8}}, {"p99_ttft_ms", {11, 23}}};
  EXPECT_NEAR(paired_half_width(shorter, longer, "p99_ttft_ms"), 12.706, 1e-3);
}

}  // namespace
}  // namespace kvcap
