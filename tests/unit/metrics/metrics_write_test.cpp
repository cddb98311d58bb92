// Results as JSON, CSV and bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "metrics/serialize.h"
#include "metrics/write.h"
#include "unit/recorded_turns.h"

namespace kvcap::metrics_write_test {
namespace {

using Json = nlohmann::json;

std::string requests_text(const RunResult& result) {
  std::string text;
  requests_csv(result.turns, [&text](std::string_view piece) { text += piece; });
  return text;
}

RunResult full_result() {
  Recorder recorder(4);
  record_four(recorder);
  recorder.inter_token_run(0.02, 1e-5, 40, 2);
  recorder.level(Level::waiting, 2, 10);
  recorder.level(stored_in(Tier::dram), 1e9 / 3, 10);
  recorder.busy(Resource::gpu, 1.0 / 3, 3, 4);
  recorder.read(Tier::ssd, 1e9 / 7, 3, 1);
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
  for (const char* name : {"duration", "completed", "rejected", "truncated", "stable", "total_input_tokens",
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
  result.turns[0].truncated = true;
  result.turns[0].api_s = 0.0625f;  // of the 125 ms before service; the other half is the queue's
  result.turns[1].rejected = true;
  result.turns[1].warmup = true;
  result.turns[1].node = 2;
  result.turns[1].retries = 1;
  EXPECT_EQ(
      requests_text(result),
      "session,turn,arrival_s,history_tokens,input_tokens,output_tokens,hit_tokens,hit_tier,rejected,warmup,"
      "ttft_ms,queue_ms,lookup_ms,load_ms,restore_compute_ms,prefill_ms,tpot_ms,e2el_ms,node,retries,"
      "truncated,failed,abandoned,earlier_ms,api_ms\n"
      "3,1,0.5,300,100,11,256,ssd,0,0,500,62.5,125,125,62.5,62.5,50,1000,0,0,1,0,0,0,62.5\n"
      "4,0,1,0,100,11,0,,1,1,,,,,,,,,2,1,0,0,0,0,0\n");
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

}  // namespace
}  // namespace kvcap::metrics_write_test
