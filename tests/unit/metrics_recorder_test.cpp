#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "metrics/recorder.h"
#include "metrics/serialize.h"
#include "metrics/write.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

TurnRecord turn(uint32_t session, uint32_t number, double arrival_s, double ttft_s) {
  TurnRecord record;
  record.session = session;
  record.turn = number;
  record.history_tokens = 300 * number;
  record.input_tokens = 100;
  record.output_tokens = 11;
  record.hit_tokens = 256 * number;
  record.tier_hit_tokens[index(Tier::ssd)] = record.hit_tokens;
  record.tier_used_tokens[index(Tier::ssd)] = record.hit_tokens / 4;
  record.cold = number == 0;
  record.arrival_s = arrival_s;
  record.ttft_s = ttft_s;
  record.service_ttft_s = 0.75 * ttft_s;
  record.e2el_s = ttft_s + 0.5;  // 50 ms a token
  record.lookup_s = 0.001f;
  record.load_s = static_cast<float>(0.25 * ttft_s);
  record.restore_compute_s = static_cast<float>(0.125 * ttft_s);
  record.restore_s = record.lookup_s + record.load_s + record.restore_compute_s;
  return record;
}

std::string requests_text(const RunResult& result) {
  std::string text;
  requests_csv(result.turns, [&text](std::string_view piece) { text += piece; });
  return text;
}

RunFacts facts() {
  RunFacts facts;
  facts.scenario_name = "test";
  facts.scenario_json = R"({"schema": "kvcap.scenario/1", "seed": 7})";
  facts.policy = "hcache";
  facts.hardware_provenance = "paper";
  facts.duration_s = 7200;
  facts.notes = {"think time is assumed"};
  return facts;
}

// Two sessions of two turns; arrivals out of order, TTFT 100, 200, 300, 400 ms.
void record_four(Recorder& recorder) {
  recorder.turn(turn(1, 1, 30, 0.4));
  recorder.turn(turn(0, 0, 0, 0.1));
  recorder.turn(turn(1, 0, 10, 0.2));
  recorder.turn(turn(0, 1, 20, 0.3));
}

std::string text(const RunResult& result, std::string_view metric) {
  for (const Metric& m : result.metrics)
    if (m.name == metric) return std::get<std::string>(m.value);
  return "absent";
}

TEST(Recorder, CountsTokensAndRatesOverTheWholeRun) {
  Recorder recorder(4);
  record_four(recorder);
  RunFacts f = facts();
  f.duration_s = 40;
  const RunResult result = recorder.finish(f);
  EXPECT_EQ(result.number("duration"), 40);
  EXPECT_EQ(result.number("completed"), 4);
  EXPECT_EQ(result.number("rejected"), 0);
  EXPECT_EQ(result.number("stable"), 1);
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
  f.duration_s = 10;
  f.slo_ttft_ms = 250;
  Recorder first(4), second(4), third(4);
  record_four(first);
  EXPECT_DOUBLE_EQ(first.finish(f).number("request_goodput"), 2 / 10.0);  // 100 and 200 ms
  f.slo_tpot_ms = 49;
  record_four(second);
  EXPECT_EQ(second.finish(f).number("request_goodput"), 0);  // every turn takes 50 ms a token
  f.slo_ttft_ms = -1;
  f.slo_tpot_ms = 51;
  record_four(third);
  EXPECT_DOUBLE_EQ(third.finish(f).number("request_goodput"), 4 / 10.0);
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
  EXPECT_EQ(text(result, "bound_by"), "ssd_write");
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
  recorder.level(Level::stored_ssd, 5e9, 50);
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
  f.tier_usd_per_hour = {100, 0.5, 0.25, 0.125};  // what a tier in HBM costs is in the GPU's price
  f.remote_usd_per_request = 0.001;
  recorder.read(Tier::remote, 1e6, 30);
  recorder.wrote(Tier::remote, 1e6, 20);
  recorder.read(Tier::ssd, 7e6, 1000);
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
  recorder.wrote(Tier::ssd, 1.5e12, 1);
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
    drains.level(Level::waiting, s % 10, s);
  }
  for (int s = 100; s < 200; ++s) grows.level(Level::waiting, (200 - s) / 2.0, s);  // served in the end
  RunFacts f = facts();
  f.duration_s = 250;
  EXPECT_EQ(grows.finish(f).number("stable"), 0);
  EXPECT_EQ(drains.finish(f).number("stable"), 1);
}

TEST(Recorder, CountsPreemptionsAndReloads) {
  Recorder recorder(1);
  recorder.preempted();
  recorder.preempted();
  recorder.reloaded(500, 2e6);
  const RunResult result = recorder.finish(facts());
  EXPECT_EQ(result.number("preemptions"), 2);
  EXPECT_EQ(result.number("reloaded_tokens"), 500);
  EXPECT_EQ(result.number("reloaded_bytes"), 2e6);
}

RunResult full_result() {
  Recorder recorder(4);
  record_four(recorder);
  recorder.inter_token_run(0.02, 1e-5, 40, 2);
  recorder.level(Level::waiting, 2, 10);
  recorder.level(Level::stored_dram, 1e9 / 3, 10);
  recorder.busy(Resource::gpu, 1.0 / 3, 3, 4);
  recorder.read(Tier::ssd, 1e9 / 7, 3);
  RunResult result = recorder.finish(facts());
  result.intervals = {{"p99_ttft_ms", 1.0 / 3, 0.1, IntervalMethod::replications, 5}};
  result.quality_note = "approximate";
  return result;
}

TEST(ResultJson, ReadsBackAsTheSameNumbers) {
  const RunResult result = full_result();
  const std::string text = result_json(result);
  EXPECT_EQ(text.back(), '\n');
  const Json json = Json::parse(text);
  EXPECT_EQ(json["schema"], "kvcap.result/1");
  EXPECT_EQ(json["scenario"]["seed"], 7);
  EXPECT_EQ(json["policy"], "hcache");
  EXPECT_EQ(json["quality_note"], "approximate");
  EXPECT_EQ(json["notes"][0], "think time is assumed");
  EXPECT_EQ(json["provenance"]["hardware"], "paper");
  EXPECT_FALSE(json["provenance"]["kvcap_version"].get<std::string>().empty());
  EXPECT_EQ(json["intervals"]["p99_ttft_ms"]["mean"], 1.0 / 3);
  EXPECT_EQ(json["intervals"]["p99_ttft_ms"]["half_width"], 0.1);
  EXPECT_EQ(json["intervals"]["p99_ttft_ms"]["method"], "replications");
  EXPECT_EQ(json["intervals"]["p99_ttft_ms"]["n"], 5);
  for (const Metric& metric : result.metrics) {
    std::string pointer = "/" + metric.name;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const Json& value = json["metrics"].at(Json::json_pointer(pointer));
    if (const auto* real = std::get_if<double>(&metric.value)) {
      if (std::isnan(*real)) {
        EXPECT_TRUE(value.is_null()) << metric.name;
      } else {
        EXPECT_EQ(value.get<double>(), *real) << metric.name;
      }
    } else if (const auto* integer = std::get_if<int64_t>(&metric.value)) {
      EXPECT_TRUE(value.is_number_integer()) << metric.name;
      EXPECT_EQ(value.get<int64_t>(), *integer) << metric.name;
    } else if (const auto* yes = std::get_if<bool>(&metric.value)) {
      EXPECT_EQ(value.get<bool>(), *yes);
    } else {
      EXPECT_EQ(value.get<std::string>(), std::get<std::string>(metric.value));
    }
  }
  EXPECT_EQ(json["distributions"].size(), 9u);
  for (const auto& [name, values] : result.distributions) {
    ASSERT_EQ(values.size(), 99u);
    EXPECT_EQ(json["distributions"][name].get<std::vector<double>>(), values) << name;
  }
  for (const auto& [name, values] : result.series) {
    ASSERT_EQ(json["series"][name].size(), values.size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Json& one = json["series"][name][i];
      EXPECT_TRUE(std::isnan(values[i]) ? one.is_null() : one.get<double>() == values[i]) << name << " " << i;
    }
  }
}

TEST(ResultJson, HoldsTheBinsOfHistory) {
  const Json bins = Json::parse(result_json(full_result()))["by_history"];
  ASSERT_EQ(bins.size(), 2u);  // histories 0 and 300
  EXPECT_EQ(bins[1]["min_tokens"], 256);
  EXPECT_EQ(bins[1]["max_tokens"], 511);
  EXPECT_EQ(bins[1]["count"], 2);
  EXPECT_TRUE(bins[1]["mean_ttft_ms"].is_number());
  EXPECT_TRUE(bins[1]["p99_ttft_ms"].is_number());
}

TEST(ResultJson, HasEveryNameOfTheContract) {
  const Json metrics = Json::parse(result_json(full_result()))["metrics"];
  for (const char* name : {"duration", "completed", "rejected", "stable", "total_input_tokens",
                           "total_output_tokens", "request_throughput", "output_throughput",
                           "total_token_throughput", "request_goodput", "token_hit_rate", "request_hit_rate",
                           "stored_bytes_per_token", "bound_by", "peak_kv_tokens", "preemptions"})
    EXPECT_TRUE(metrics.contains(name)) << name;
  for (const char* latency :
       {"ttft", "service_ttft", "cold_ttft", "warm_ttft", "tpot", "itl", "e2el", "queue", "restore"})
    for (const char* statistic : {"mean", "median", "std", "p90", "p95", "p99"})
      EXPECT_TRUE(metrics.contains(std::string(statistic) + "_" + latency + "_ms")) << statistic << latency;
  for (const char* per_tier : {"hit_tokens", "peak_stored_bytes", "read_bytes", "written_bytes"})
    for (const char* tier : {"hbm", "dram", "ssd", "remote"}) EXPECT_TRUE(metrics[per_tier].contains(tier));
  EXPECT_EQ(metrics["utilization"].size(), 8u);
  EXPECT_EQ(metrics["cost"].size(), 14u);
}

TEST(ResultJson, WritesNothingAsNull) {
  const Json json = Json::parse(result_json(Recorder(0).finish(facts())));
  EXPECT_TRUE(json["metrics"]["mean_ttft_ms"].is_null());
  EXPECT_TRUE(json["metrics"]["request_goodput"].is_null());
  EXPECT_TRUE(json["quality_note"].is_null());
  EXPECT_TRUE(json["distributions"]["ttft_ms"][0].is_null());
  EXPECT_EQ(json["intervals"], Json::object());
}

TEST(CompareJson, HoldsResultsAndDifferencesWithIntervals) {
  const RunResult result = full_result();
  const Json json =
      Json::parse(compare_json({result, result}, {{"hcache", "recompute", "p99_ttft_ms", -70, 8},
                                                  {"a", "b", "mean_ttft_ms", 1, std::nan("")}}));
  EXPECT_EQ(json["schema"], "kvcap.compare/1");
  EXPECT_EQ(json["results"].size(), 2u);
  EXPECT_EQ(json["results"][1]["schema"], "kvcap.result/1");
  EXPECT_EQ(json["differences"][0]["difference"], -70);
  EXPECT_EQ(json["differences"][0]["interval"], (Json{-78, -62}));
  EXPECT_EQ(json["differences"][0]["method"], "replications");
  EXPECT_TRUE(json["differences"][1]["interval"].is_null());
  EXPECT_TRUE(json["differences"][1]["method"].is_null());
}

TEST(RequestsCsv, HasOneRowATurnWithItsBreakdown) {
  RunResult result;
  result.turns = {turn(3, 1, 0.5, 0.5), turn(4, 0, 1, 0.25)};
  result.turns[0].lookup_s = 0.125f;  // exact in binary, so that the text is known
  result.turns[1].rejected = true;
  result.turns[1].warmup = true;
  result.turns[1].node = 2;
  result.turns[1].retries = 1;
  EXPECT_EQ(
      requests_text(result),
      "session,turn,arrival_s,history_tokens,input_tokens,output_tokens,hit_tokens,hit_tier,rejected,warmup,"
      "ttft_ms,queue_ms,lookup_ms,load_ms,restore_compute_ms,prefill_ms,tpot_ms,e2el_ms,node,retries\n"
      "3,1,0.5,300,100,11,256,ssd,0,0,500,125,125,125,62.5,62.5,50,1000,0,0\n"
      "4,0,1,0,100,11,0,,1,1,,,,,,,,,2,1\n");
}

TEST(RequestsCsv, OfManyTurnsComesInPieces) {
  const std::vector<TurnRecord> turns(30'000, turn(3, 1, 0.5, 0.5));
  int64_t pieces = 0, rows = 0;
  requests_csv(turns, [&](std::string_view piece) {
    ++pieces;
    rows += std::count(piece.begin(), piece.end(), '\n');
    EXPECT_LT(piece.size(), 1'100'000u);
  });
  EXPECT_EQ(rows, 30'001);
  EXPECT_GT(pieces, 1);
}

TEST(Serialize, BringsEveryFieldThroughAPipe) {
  const RunResult sent = full_result();
  const RunResult got = deserialize(serialize(sent));
  EXPECT_EQ(result_json(got), result_json(sent));
  EXPECT_EQ(requests_text(got), requests_text(sent));
  EXPECT_EQ(got.scenario_name, "test");
  EXPECT_EQ(got.turns.size(), 4u);
  EXPECT_EQ(serialize(got).size(), serialize(sent).size());
}

TEST(Serialize, RefusesWhatIsNotOneWholeResult) {
  const std::string bytes = serialize(full_result());
  for (std::size_t length = 0; length < bytes.size(); length += 97)
    EXPECT_THROW(deserialize(std::string_view(bytes).substr(0, length)), std::runtime_error) << length;
  EXPECT_THROW(deserialize(bytes + "x"), std::runtime_error);
  std::string other_layout = bytes;
  ++other_layout[8];
  EXPECT_THROW(deserialize(other_layout), std::runtime_error);
}

RunResult replication(double ttft_ms, bool stable, double quantile) {
  RunResult result;
  result.policy = "hcache";
  result.metrics = {{"p99_ttft_ms", ttft_ms},
                    {"completed", int64_t{10}},
                    {"stable", stable},
                    {"bound_by", std::string("gpu")},
                    {"request_goodput", std::nan("")}};
  result.distributions = {{"ttft_ms", {quantile, 2 * quantile}}};
  result.notes = {"the same", "of " + std::to_string(static_cast<int>(ttft_ms))};
  return result;
}

TEST(Replications, GiveMeansAndTIntervals) {
  const RunResult combined =
      combine_replications({replication(10, true, 1), replication(12, true, 3), replication(17, false, 8)});
  EXPECT_DOUBLE_EQ(combined.number("p99_ttft_ms"), 13);
  EXPECT_EQ(combined.number("completed"), 10);
  EXPECT_EQ(combined.number("stable"), 0);  // one that cannot serve is enough
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
  RunResult one = replication(10, true, 1), other = replication(12, true, 3);
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
  const RunResult combined = combine_replications({replication(10, true, 1)});
  EXPECT_EQ(combined.number("p99_ttft_ms"), 10);
  EXPECT_TRUE(combined.intervals.empty());
}

TEST(Replications, DifferencesArePaired) {
  std::vector<RunResult> against = {replication(100, true, 1), replication(200, true, 1)};
  std::vector<RunResult> setting = {replication(90, true, 1), replication(188, true, 1)};
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

}  // namespace
}  // namespace kvcap
