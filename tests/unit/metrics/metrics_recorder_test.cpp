#include <gtest/gtest.h>

#include <cmath>

#include "unit/recorded_turns.h"

namespace kvcap::metrics_recorder_test {
namespace {

TEST(Recorder, CountsTokensAndRatesOverTheWholeRun) {
  Recorder recorder(4);
  record_four(recorder);
  RunFacts f = facts();
  f.duration_s = 40;
  const RunResult result = recorder.finish(f);
  EXPECT_EQ(result.number("duration"), 40);
  EXPECT_EQ(result.number("completed"), 4);
  EXPECT_EQ(result.number("rejected"), 0);
  EXPECT_EQ(text(result, "stable.verdict"), "undecided");  // of two sessions
  EXPECT_TRUE(std::isnan(result.number("stable")));
  EXPECT_EQ(result.number("total_input_tokens"), 4 * 100 + 2 * 300);  // history counts
  EXPECT_EQ(result.number("total_output_tokens"), 44);
  EXPECT_DOUBLE_EQ(result.number("request_throughput"), 4 / 40.0);
  EXPECT_DOUBLE_EQ(result.number("output_throughput"), 44 / 40.0);
  EXPECT_DOUBLE_EQ(result.number("total_token_throughput"), (1000 + 44) / 40.0);
  EXPECT_TRUE(std::isnan(result.number("request_goodput")));
}

TEST(Recorder, LatenciesAreInMillisecondsByKindOfTurn) {
  Recorder recorder(4);
  record_four(recorder);
  const RunResult result = recorder.finish(facts());
  EXPECT_NEAR(result.number("mean_ttft_ms"), 250, 1e-9);
  EXPECT_NEAR(result.number("median_ttft_ms"), 250, 1e-9);
  EXPECT_NEAR(result.number("std_ttft_ms"), std::sqrt(12500), 1e-9);  // (150^2 + 50^2) / 2
  EXPECT_NEAR(result.number("p90_ttft_ms"), 300 + 0.7 * 100, 1e-9);
  EXPECT_NEAR(result.number("mean_service_ttft_ms"), 187.5, 1e-9);
  EXPECT_NEAR(result.number("mean_queue_ms"), 62.5, 1e-9);
  EXPECT_NEAR(result.number("mean_cold_ttft_ms"), 150, 1e-9);
  EXPECT_NEAR(result.number("mean_warm_ttft_ms"), 350, 1e-9);
  EXPECT_NEAR(result.number("mean_tpot_ms"), 50, 1e-9);  // 500 ms over 11 - 1 tokens
  EXPECT_NEAR(result.number("mean_e2el_ms"), 750, 1e-9);
  EXPECT_NEAR(result.number("mean_restore_ms"), 1 + 0.375 * 250, 1e-4);
  EXPECT_NEAR(result.number("mean_service_ttft_with_history_ms"), 0.75 * 350, 1e-9);
}

TEST(Recorder, TurnsOfOneTokenHaveNoTimePerOutputToken) {
  Recorder recorder(2);
  TurnRecord one = turn(0, 0, 0, 0.1);
  one.output_tokens = 1;
  recorder.turn(one);
  EXPECT_TRUE(std::isnan(recorder.finish(facts()).number("mean_tpot_ms")));
}

// The parts of a TTFT t: t/4 queueing, 1 ms looking up, t/4 loading, t/8 computing; 3t/8 - 1 ms of prefill,
// of which an idle engine needs 100 ms after a hit and 60 ms without one.
TEST(Recorder, BatchingIsWhatAPrefillLastsLongerThanInAnIdleEngine) {
  Recorder recorder(4);
  record_four(recorder);
  RunFacts f = facts();
  EXPECT_TRUE(std::isnan(recorder.finish(f).number("mean_batching_ms")));
  Recorder again(4);
  record_four(again);
  f.idle_prefill_s = [](const TurnRecord& turn) { return turn.hit_tokens > 0 ? 0.1 : 0.06; };
  const RunResult result = again.finish(f);
  // Prefills of 36.5, 74, 111.5 and 149 ms: 0, 14, 11.5 and 49 ms too long.
  EXPECT_NEAR(result.number("mean_batching_ms"), (0 + 14 + 11.5 + 49) / 4, 1e-4);
  // Two of them restored for 10 ms each, one inside of its prefill.
  Recorder restoring(4);
  record_four(restoring);
  restoring.reused(0.5, 0.01);
  restoring.reused(0.5, 0.01, true);
  EXPECT_NEAR(restoring.finish(f).number("mean_batching_ms"), (0 + 14 + 11.5 + 49 - 10) / 4, 1e-4);
}

TEST(Recorder, OfVeryManyTurnsEveryFewSayWhatBatchingTakes) {
  const uint32_t turns = 10'000;
  Recorder recorder(turns);
  for (uint32_t i = 0; i < turns; ++i) recorder.turn(turn(i, 0, i, 0.2));
  RunFacts f = facts();
  int asked = 0;
  f.idle_prefill_s = [&](const TurnRecord&) {
    ++asked;
    return 0.07;
  };
  EXPECT_NEAR(recorder.finish(f).number("mean_batching_ms"), 4, 1e-4);
  EXPECT_EQ(asked, 3334);  // every third
}

// 100 s: the GPU is busy for 60 % throughout, the SSDs wholly in the first quarter.
TEST(Recorder, TheBottleneckIsTheBusiestResourceFromTimeToTime) {
  Recorder recorder(1);
  recorder.turn(turn(0, 0, 0, 1));
  recorder.busy(Resource::gpu, 60, 0, 100);
  recorder.busy(Resource::ssd_read, 25, 0, 25);
  recorder.busy(Resource::pcie_h2d, 50, 0, 100);
  RunFacts f = facts();
  f.duration_s = 100;
  const RunResult result = recorder.finish(f);
  EXPECT_NEAR(result.number("bottleneck.ssd_read"), 0.25, 1e-9);
  EXPECT_NEAR(result.number("bottleneck.gpu"), 0.75 * 0.6, 1e-9);
  EXPECT_EQ(result.number("bottleneck.pcie_h2d"), 0);  // never the busiest
  EXPECT_NEAR(result.number("bottleneck.none"), 0.75 * 0.4, 1e-9);
  EXPECT_EQ(text(result, "bound_by"), "gpu");
}

// The mean utilization of the GPU is higher, but for most of the time the SSDs are busier.
TEST(Recorder, WhatIsBusiestForMostOfTheTimeBindsAndNotWhatIsBusiestOnAverage) {
  Recorder recorder(1);
  recorder.turn(turn(0, 0, 0, 1));
  recorder.busy(Resource::gpu, 30, 0, 30);
  recorder.busy(Resource::gpu, 35, 30, 100);
  recorder.busy(Resource::ssd_read, 42, 30, 100);
  RunFacts f = facts();
  f.duration_s = 100;
  const RunResult result = recorder.finish(f);
  EXPECT_GT(result.number("utilization.gpu"), result.number("utilization.ssd_read"));
  EXPECT_NEAR(result.number("bottleneck.ssd_read"), 0.42, 1e-9);
  EXPECT_NEAR(result.number("bottleneck.gpu"), 0.3, 1e-9);
  EXPECT_EQ(text(result, "bound_by"), "ssd_read");
}

TEST(Recorder, WithNothingBusyNothingBinds) {
  Recorder recorder(1);
  recorder.turn(turn(0, 0, 0, 1));
  const RunResult result = recorder.finish(facts());
  EXPECT_EQ(text(result, "bound_by"), "none");
  EXPECT_EQ(result.number("bottleneck.none"), 1);
}

TEST(Recorder, TheBreakdownHasNoNegativePrefillAfterALookupOfYears) {
  Recorder recorder(1);
  TurnRecord one = turn(0, 0, 0, 9999999999.1);
  one.service_ttft_s = one.ttft_s;
  one.lookup_s = 9999999999.0F;  // 1e10 as a float
  recorder.turn(one);
  EXPECT_EQ(recorder.finish(facts()).number("ttft_breakdown_ms.prefill"), 0);
}

TEST(Recorder, TheBreakdownSumsToTheMeanTtft) {
  Recorder recorder(4);
  record_four(recorder);
  const RunResult result = recorder.finish(facts());
  double sum = 0;
  for (const char* part : {"queue", "lookup", "load", "restore_compute", "prefill"})
    sum += result.number(std::string("ttft_breakdown_ms.") + part);
  EXPECT_NEAR(sum / result.number("mean_ttft_ms"), 1, 1e-9);
  EXPECT_NEAR(result.number("ttft_breakdown_ms.queue"), 62.5, 1e-9);
  EXPECT_NEAR(result.number("ttft_breakdown_ms.load"), 62.5, 1e-4);
  // 250 - 62.5 queue - 1 lookup - 62.5 load - 31.25 computing
  EXPECT_NEAR(result.number("ttft_breakdown_ms.prefill"), 92.75, 1e-4);
}

TEST(Recorder, HitRatesCountHistoryAndNewTokensOnceATurn) {
  Recorder recorder(4);
  record_four(recorder);
  const RunResult result = recorder.finish(facts());
  EXPECT_DOUBLE_EQ(result.number("token_hit_rate"), 512.0 / 1000);
  EXPECT_DOUBLE_EQ(result.number("request_hit_rate"), 0.5);
  EXPECT_EQ(result.number("hit_tokens.ssd"), 512);
  EXPECT_EQ(result.number("hit_tokens.dram"), 0);
  EXPECT_EQ(result.number("used_tokens.ssd"), 128);
}

TEST(Recorder, WarmUpAndRejectedTurnsAreLeftOutOfLatenciesAndHits) {
  Recorder recorder(6);
  record_four(recorder);
  TurnRecord warmup = turn(9, 3, 0, 99), rejected = turn(8, 2, 5, 0);
  warmup.warmup = true;
  rejected.rejected = true;
  recorder.turn(warmup);
  recorder.turn(rejected);
  const RunResult result = recorder.finish(facts());
  EXPECT_NEAR(result.number("mean_ttft_ms"), 250, 1e-9);
  EXPECT_DOUBLE_EQ(result.number("token_hit_rate"), 512.0 / 1000);
  EXPECT_EQ(result.number("completed"), 5);  // the whole run, warm-up included
  EXPECT_EQ(result.number("rejected"), 1);
  EXPECT_EQ(result.number("total_output_tokens"), 55);
  EXPECT_EQ(result.turns.size(), 6u);
}

TEST(Recorder, GoodputCountsTurnsThatMeetEveryTarget) {
  RunFacts f = facts();
  f.duration_s = 40;
  f.slo_ttft_ms = 250;
  Recorder first(4), second(4), third(4);
  record_four(first);
  EXPECT_DOUBLE_EQ(first.finish(f).number("request_goodput"), 2 / 40.0);  // 100 and 200 ms
  f.slo_tpot_ms = 49;
  record_four(second);
  EXPECT_EQ(second.finish(f).number("request_goodput"), 0);  // every turn takes 50 ms a token
  f.slo_ttft_ms = -1;
  f.slo_tpot_ms = 51;
  record_four(third);
  EXPECT_DOUBLE_EQ(third.finish(f).number("request_goodput"), 4 / 40.0);
}

TEST(Recorder, TurnsComeInOrderOfArrival) {
  Recorder recorder(6);
  record_four(recorder);
  recorder.turn(turn(0, 2, 30, 0.1));  // arrives with turn 1 of session 1: session decides
  const RunResult result = recorder.finish(facts());
  ASSERT_EQ(result.turns.size(), 5u);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_LE(result.turns[i - 1].arrival_s, result.turns[i].arrival_s);
  EXPECT_EQ(result.turns[3].session, 0u);
  EXPECT_EQ(result.turns[4].session, 1u);
}

// Histories 0, 1, 2, 3, 4 and 1000: bins 0, 1, 2..3, 4..7 and 512..1023.
TEST(Recorder, BinsTtftByPowersOfTwoOfTheHistory) {
  Recorder recorder(6);
  uint32_t session = 0;
  for (uint32_t history : {0, 1, 2, 3, 4, 1000}) {
    TurnRecord record = turn(session, 0, session, 0.1 * (session + 1));
    record.history_tokens = history;
    recorder.turn(record);
    ++session;
  }
  TurnRecord warmup = turn(session, 0, session, 9);
  warmup.warmup = true;
  recorder.turn(warmup);
  const std::vector<HistoryBin> bins = recorder.finish(facts()).by_history;
  ASSERT_EQ(bins.size(), 5u);
  const int64_t expected[][3] = {{0, 0, 1}, {1, 1, 1}, {2, 3, 2}, {4, 7, 1}, {512, 1023, 1}};
  for (std::size_t i = 0; i < bins.size(); ++i) {
    EXPECT_EQ(bins[i].min_tokens, expected[i][0]);
    EXPECT_EQ(bins[i].max_tokens, expected[i][1]);
    EXPECT_EQ(bins[i].count, expected[i][2]);
  }
  EXPECT_DOUBLE_EQ(bins[2].mean_ttft_ms, 350);
  EXPECT_DOUBLE_EQ(bins[2].p99_ttft_ms, 300 + 0.99 * 100);
}

TEST(Recorder, InterTokenGapsMakeItl) {
  Recorder recorder(1);
  recorder.inter_token(0.020, 3);
  recorder.inter_token_run(0.040, 0.010, 2, 1);  // 40 and 50 ms
  const RunResult result = recorder.finish(facts());
  EXPECT_NEAR(result.number("mean_itl_ms"), (3 * 20 + 40 + 50) / 5.0, 1e-9);
  EXPECT_NEAR(result.number("median_itl_ms"), 20, 20 * 0.0025);
  EXPECT_NEAR(result.number("p90_itl_ms"), 46, 46 * 0.0025);  // position 3.6: between 40 and 50
}

TEST(Recorder, TheBusiestResourceBindsAndWorkAfterTheEndIsNotCounted) {
  Recorder recorder(1);
  RunFacts f = facts();
  f.duration_s = 100;
  recorder.busy(Resource::gpu, 30, 0, 60);
  recorder.busy(Resource::ssd_read, 20, 10, 30);
  recorder.busy(Resource::ssd_read, 25, 40, 65);
  recorder.busy(Resource::pcie_d2h, 5, 50, 50);      // at one moment
  recorder.busy(Resource::ssd_write, 100, 50, 150);  // saves that go on
  recorder.busy(Resource::ssd_write, 100, 150, 250);
  const RunResult result = recorder.finish(f);
  EXPECT_DOUBLE_EQ(result.number("utilization.gpu"), 0.3);
  EXPECT_DOUBLE_EQ(result.number("utilization.ssd_read"), 0.45);
  EXPECT_DOUBLE_EQ(result.number("utilization.pcie_d2h"), 0.05);
  EXPECT_NEAR(result.number("utilization.ssd_write"), 0.5, 1e-3);
  EXPECT_EQ(result.number("utilization.nvlink"), 0);
  // Reads are the busiest from 10 to 30 and from 40 to 65, the GPU before and between, writes after.
  EXPECT_EQ(text(result, "bound_by"), "ssd_read");
}

TEST(Recorder, NothingBindsAnIdleMachine) {
  EXPECT_EQ(text(Recorder(0).finish(facts()), "bound_by"), "none");
}

TEST(Recorder, LevelsGivePeaksAndSeries) {
  Recorder recorder(1);
  RunFacts f = facts();
  f.duration_s = 200;
  recorder.level(Level::kv_tokens, 1000, 0);
  recorder.level(Level::kv_tokens, 400, 100);
  recorder.level(stored_in(Tier::ssd), 5e9, 50);
  recorder.busy(Resource::gpu, 50, 0, 100);
  const RunResult result = recorder.finish(f);
  EXPECT_EQ(result.number("peak_kv_tokens"), 1000);
  EXPECT_EQ(result.number("peak_stored_bytes.ssd"), 5e9);
  EXPECT_EQ(result.number("peak_stored_bytes.dram"), 0);
  std::vector<std::string> names;
  for (const auto& [name, values] : result.series) {
    names.push_back(name);
    EXPECT_EQ(values.size(), 200u);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"time_s", "waiting", "running", "kv_tokens", "stored_bytes_ssd",
                                             "gpu_utilization", "token_hit_rate", "mean_ttft_ms"}));
  const auto& kv_tokens = result.series[3].second;
  EXPECT_EQ(result.series[0].second[0], 0.5);  // middle of the first second
  EXPECT_NEAR(kv_tokens[50], 1000, 1e-9);
  EXPECT_NEAR(kv_tokens[150], 400, 1e-9);
  EXPECT_NEAR(result.series[4].second[199], 5e9, 1);  // held until the end of the run
  EXPECT_NEAR(result.series[5].second[50], 0.5, 1e-9);
}

TEST(Recorder, TurnsGiveSeriesOverTheirArrivals) {
  Recorder recorder(3);
  RunFacts f = facts();
  f.duration_s = 200;
  TurnRecord turn{.history_tokens = 90, .input_tokens = 10, .output_tokens = 5, .hit_tokens = 60};
  turn.arrival_s = 10.2;
  turn.ttft_s = 0.1;
  recorder.turn(turn);
  turn.arrival_s = 10.8;
  turn.history_tokens = 0;
  turn.input_tokens = 20;
  turn.hit_tokens = 0;
  turn.ttft_s = 0.3;
  recorder.turn(turn);
  turn.arrival_s = 199.9;
  turn.rejected = true;
  recorder.turn(turn);
  const RunResult result = recorder.finish(f);
  const auto& hit_rate = result.series[result.series.size() - 2];
  const auto& ttft_ms = result.series.back();
  ASSERT_EQ(hit_rate.first, "token_hit_rate");
  ASSERT_EQ(ttft_ms.first, "mean_ttft_ms");
  EXPECT_DOUBLE_EQ(hit_rate.second[10], 0.5);  // 60 of 100 + 20 tokens
  EXPECT_NEAR(ttft_ms.second[10], 200, 1e-9);
  for (std::size_t bin : {9U, 11U, 199U}) {
    EXPECT_TRUE(std::isnan(hit_rate.second[bin])) << bin;
    EXPECT_TRUE(std::isnan(ttft_ms.second[bin])) << bin;
  }
}

TEST(Recorder, CostIsCapacityTimesDurationPlusRemoteRequests) {
  Recorder recorder(4);
  record_four(recorder);
  RunFacts f = facts();  // two hours
  f.gpu_usd_per_hour = 5;
  f.tier_usd_per_hour = {100, 0.5, 0, 0.25, 0.125};  // what a tier in HBM costs is in the GPU's price
  f.remote_usd_per_request = 0.001;
  recorder.read(Tier::remote, 1e6, 30, 10);
  recorder.wrote(Tier::remote, 1e6, 20, 20);
  recorder.read(Tier::ssd, 7e6, 1000, 30);
  const RunResult result = recorder.finish(f);
  EXPECT_DOUBLE_EQ(result.number("cost.gpu_usd"), 10);
  EXPECT_DOUBLE_EQ(result.number("cost.dram_usd"), 1);
  EXPECT_DOUBLE_EQ(result.number("cost.ssd_usd"), 0.5);
  EXPECT_DOUBLE_EQ(result.number("cost.remote_usd"), 0.25 + 50 * 0.001);
  EXPECT_DOUBLE_EQ(result.number("cost.total_usd"), 11.8);
  EXPECT_DOUBLE_EQ(result.number("cost.usd_per_hour"), 5.9);
  EXPECT_DOUBLE_EQ(result.number("cost.usd_per_million_output_tokens"), 11.8 / 44 * 1e6);
  EXPECT_EQ(result.number("read_bytes.ssd"), 7e6);
  EXPECT_EQ(result.number("written_bytes.remote"), 1e6);
}

TEST(Recorder, RatedShareOneWearsTheSsdsOutInFiveYears) {
  Recorder recorder(1);
  RunFacts f = facts();
  f.duration_s = 86400 / 2.0;
  f.ssd_endurance_bytes = 5 * 365 * 3e12;
  recorder.wrote(Tier::ssd, 1.5e12, 1, 100);
  const RunResult result = recorder.finish(f);
  EXPECT_DOUBLE_EQ(result.number("ssd_writes.bytes_per_day"), 3e12);
  EXPECT_DOUBLE_EQ(result.number("ssd_writes.rated_share"), 1);
}

TEST(Recorder, AQueueThatGrewWhileSessionsArrivedIsUnstable) {
  Recorder grows(0), drains(0);
  for (uint32_t s = 0; s < 100; ++s) {
    grows.turn(turn(s, 0, s, 0.1));
    drains.turn(turn(s, 0, s, 0.1));
    grows.level(Level::waiting, s / 2.0, s);
    drains.level(Level::waiting, s % 2, s);
  }
  for (int s = 100; s < 200; ++s) grows.level(Level::waiting, (200 - s) / 2.0, s);  // served in the end
  RunFacts closed = facts();
  closed.closed_loop = true;
  EXPECT_EQ(Recorder(0).finish(closed).number("stable"), 1);  // no queue can grow
  RunFacts f = facts();
  f.duration_s = 250;
  EXPECT_EQ(grows.finish(f).number("stable"), 0);
  EXPECT_EQ(drains.finish(f).number("stable"), 1);
}

TEST(Recorder, LaterTurnsOfSessionsDoNotLengthenTheTimeThatAQueueIsJudgedFor) {
  Recorder grows(0);
  for (uint32_t s = 0; s < 100; ++s) {
    grows.turn(turn(s, 0, s, 0.1));
    grows.turn(turn(s, 1, 30 + s, 0.1));
    grows.level(Level::waiting, s / 2.0, s);
  }
  grows.level(Level::waiting, 0, 100);
  RunFacts f = facts();
  f.duration_s = 600;
  EXPECT_EQ(grows.finish(f).number("stable"), 0);
}

TEST(Recorder, UtilizationIsThatOfTheMeanNode) {
  Recorder recorder(0);
  recorder.busy(Resource::gpu, 10, 0, 20, 0);
  recorder.busy(Resource::gpu, 20, 0, 20, 1);
  RunFacts f = facts();
  f.duration_s = 20;
  f.replicas = 2;
  const RunResult result = recorder.finish(f);
  EXPECT_NEAR(result.number("utilization.gpu"), 0.75, 1e-9);
  EXPECT_NEAR(result.number("routing.imbalance"), 20 / 15.0, 1e-9);
}

TEST(Recorder, StorageIsSharedAmongTheTurnsThatFoundSomething) {
  Recorder recorder(4);
  record_four(recorder);  // two of them, in two hours
  RunFacts f = facts();
  f.tier_usd_per_hour[index(Tier::dram)] = 0.5;
  f.stored_bytes_per_token = 1024;
  EXPECT_NEAR(recorder.finish(f).number("cost.storage_usd_per_hit"), 2 * 0.5 / 2, 1e-12);
}

TEST(Recorder, WaitingSavesHaveAPeak) {
  Recorder recorder(0);
  for (double bytes : {100.0, -100.0, 60.0, 30.0, -90.0}) recorder.waiting_saves(bytes);
  EXPECT_EQ(recorder.finish(facts()).number("saves_waiting_bytes"), 100);
}

TEST(Recorder, CountsPreemptionsAndReloads) {
  Recorder recorder(1);
  recorder.preempted();
  recorder.preempted();
  recorder.reloaded(Tier::remote, 500, 2e6, 40, 5);
  RunFacts f = facts();
  f.remote_usd_per_request = 0.001;
  const RunResult result = recorder.finish(f);
  EXPECT_EQ(result.number("preemptions"), 2);
  EXPECT_EQ(result.number("reloaded_tokens"), 500);
  EXPECT_EQ(result.number("reloaded_bytes"), 2e6);
  EXPECT_DOUBLE_EQ(result.number("cost.remote_usd"), 40 * 0.001);
}

}  // namespace
}  // namespace kvcap::metrics_recorder_test
