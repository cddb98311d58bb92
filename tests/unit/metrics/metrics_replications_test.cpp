#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "metrics/recorder.h"
#include "text/result_sentences.h"
#include "unit/recorded_turns.h"

namespace kvcap::metrics_replications_test {
namespace {

RunResult replication(double ttft_ms, const std::string& verdict, double quantile) {
  RunResult result;
  result.policy = "hcache";
  result.metrics = {{"p99_ttft_ms", ttft_ms},         {"completed", int64_t{10}},
                    {"stable.verdict", verdict},      {"stable.reason", "what is " + verdict},
                    {"bound_by", std::string("gpu")}, {"request_goodput", std::nan("")}};
  result.distributions = {{"ttft_ms", {quantile, 2 * quantile}}};
  result.notes = {"the same", "of " + std::to_string(static_cast<int>(ttft_ms))};
  return result;
}

TEST(Replications, GiveMeansAndTIntervals) {
  const RunResult combined = combine_replications(
      {replication(10, "stable", 1), replication(12, "stable", 3), replication(17, "saturated", 8)});
  EXPECT_DOUBLE_EQ(combined.number("p99_ttft_ms"), 13);
  EXPECT_EQ(combined.number("completed"), 10);
  EXPECT_EQ(text(combined, "stable.verdict"), "undecided");  // they do not agree
  EXPECT_EQ(text(combined, "stable.reason"), "2 of 3 runs are stable, 1 saturated: what is saturated");
  EXPECT_EQ(text(combined, "bound_by"), "gpu");
  ASSERT_EQ(combined.intervals.size(), 3u);  // the numbers
  EXPECT_EQ(combined.intervals[0].name, "p99_ttft_ms");
  EXPECT_NEAR(combined.intervals[0].half_width, 4.302653 * std::sqrt(13.0 / 3), 1e-5);
  EXPECT_EQ(combined.intervals[1].half_width, 0);
  EXPECT_TRUE(std::isnan(combined.number("request_goodput")));
  EXPECT_EQ(combined.distributions[0].second, (std::vector<double>{4, 8}));
  EXPECT_EQ(combined.notes, (std::vector<std::string>{"the same", "of 10", "of 12", "of 17"}));
}

// 0: 1 turn of 10 ms and 3 of 30 ms; 4..7 in one run alone.
TEST(Replications, PoolTheBinsOfHistoryByTheirTurns) {
  RunResult one = replication(10, "stable", 1), other = replication(12, "stable", 3);
  one.by_history = {{0, 0, 1, 10, 20}};
  other.by_history = {{0, 0, 3, 30, 60}, {4, 7, 2, 50, 70}};
  const std::vector<HistoryBin> bins = combine_replications({one, other}).by_history;
  ASSERT_EQ(bins.size(), 2u);
  EXPECT_EQ(bins[0].count, 4);
  EXPECT_DOUBLE_EQ(bins[0].mean_ttft_ms, (10 + 3 * 30) / 4.0);
  EXPECT_DOUBLE_EQ(bins[0].p99_ttft_ms, (20 + 3 * 60) / 4.0);
  EXPECT_EQ(bins[1].max_tokens, 7);
  EXPECT_EQ(bins[1].count, 2);
  EXPECT_DOUBLE_EQ(bins[1].mean_ttft_ms, 50);
}

TEST(Replications, OneRunHasNoIntervals) {
  const RunResult combined = combine_replications({replication(10, "stable", 1)});
  EXPECT_EQ(combined.number("p99_ttft_ms"), 10);
  EXPECT_TRUE(combined.intervals.empty());
}

TEST(Replications, DifferencesArePaired) {
  std::vector<RunResult> against = {replication(100, "stable", 1), replication(200, "stable", 1)};
  std::vector<RunResult> setting = {replication(90, "stable", 1), replication(188, "stable", 1)};
  for (RunResult& run : against) run.policy = "recompute";
  const auto differences = paired_differences(against, setting);
  const auto p99 = std::find_if(differences.begin(), differences.end(),
                                [](const Difference& d) { return d.metric == "p99_ttft_ms"; });
  ASSERT_NE(p99, differences.end());
  EXPECT_EQ(p99->setting, "hcache");
  EXPECT_EQ(p99->against, "recompute");
  EXPECT_DOUBLE_EQ(p99->difference, -11);
  // -10 and -12: standard error 1; t(0.975, 1) = 12.706. The runs' own spread of 50 plays no part.
  EXPECT_NEAR(p99->half_width, 12.7062, 1e-4);
  EXPECT_EQ(differences.size(), 5u * 4 + 5);
}

TEST(Replications, WhatRoundingMakesIsNoDifference) {
  const std::vector<RunResult> against = {replication(100, "stable", 1), replication(200, "stable", 1)};
  const std::vector<RunResult> setting = {replication(100 * (1 + 1e-12), "stable", 1),
                                          replication(200, "stable", 1)};
  const auto differences = paired_differences(against, setting);
  const auto p99 = std::ranges::find(differences, "p99_ttft_ms", &Difference::metric);
  ASSERT_NE(p99, differences.end());
  EXPECT_EQ(p99->difference, 0);
  EXPECT_EQ(difference_text(0, std::nan(""), "ms"), "no different");
  EXPECT_EQ(difference_text(1e-14, 2e-14, "ms"), "no different");  // noise of sums
}

}  // namespace
}  // namespace kvcap::metrics_replications_test
