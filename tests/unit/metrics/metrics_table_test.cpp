#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text/format.h"
#include "text/result_table.h"

namespace kvcap::metrics_table_test {
namespace {

const double kNaN = std::nan("");

// The page's formats are tested with the same table (tests/browser/formats.test.mjs).
TEST(Format, NumbersAreWrittenAsTheTableOfExamplesSays) {
  std::ifstream file(std::string(KVCAP_SOURCE_DIR) + "/tests/golden/formats.json");
  const nlohmann::json examples = nlohmann::json::parse(file);
  const auto number = [](const nlohmann::json& value) {
    return value.is_null() ? kNaN : value.get<double>();
  };
  ASSERT_FALSE(examples["numbers"].empty());
  for (const auto& one : examples["numbers"]) EXPECT_EQ(format_number(number(one["value"])), one["terminal"]);
  for (const auto& one : examples["intervals"])
    EXPECT_EQ(format_interval(number(one["value"]), number(one["half_width"])), one["terminal"]);
}

TEST(Format, IntervalsShareTheirDecimals) {
  EXPECT_EQ(format_interval(200.3, 6.2), "200 +-6");
  EXPECT_EQ(format_interval(51.24, 0.031), "51.24 +-0.03");
  EXPECT_EQ(format_interval(12345, 430), "12,300 +-400");
  EXPECT_EQ(format_interval(0.3, 82), "0 +-82");
}

TEST(Format, CountsKeepAllDigits) {
  EXPECT_EQ(format_count(5540), "5,540");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
}

TEST(Format, WrapBreaksAtSpaces) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("one two three", 9, "  "), (std::vector<std::string>{"one two", "  three"}));
  EXPECT_TRUE(wrap("", 10).empty());
}

struct Shape {
  double ttft_ms, p99_ms, history_service_ms, stored_bytes, cost, busy;
  double queue_ms, load_ms, compute_ms;
  std::string bound_by = "gpu";
  bool stable = true;
};

RunResult result(const std::string& policy, const Shape& shape) {
  RunResult r;
  r.policy = policy;
  r.policy_summary = "what " + policy + " does";
  r.is_bound = policy == "ideal";
  const double prefill_ms = shape.ttft_ms - shape.queue_ms - shape.load_ms - shape.compute_ms;
  r.metrics = {{"stable.verdict", std::string(shape.stable ? "stable" : "saturated")},
               {"mean_ttft_ms", shape.ttft_ms},
               {"median_ttft_ms", shape.ttft_ms * 0.8},
               {"p99_ttft_ms", shape.p99_ms},
               {"mean_warm_ttft_ms", shape.ttft_ms * 1.1},
               {"p99_itl_ms", 44.0},
               {"mean_e2el_ms", 5000.0},
               {"mean_service_ttft_with_history_ms", shape.history_service_ms},
               {"token_hit_rate", policy == "recompute" ? 0.0 : 0.935},
               {"request_hit_rate", policy == "recompute" ? 0.0 : 0.8},
               {"stored_bytes_per_token", shape.stored_bytes},
               {"utilization.gpu", shape.bound_by == "gpu" ? shape.busy : 0.5},
               {"utilization.ssd_read", shape.bound_by == "ssd_read" ? shape.busy : 0.1},
               {"bound_by", shape.bound_by},
               {"cost.usd_per_million_output_tokens", shape.cost},
               {"ttft_breakdown_ms.queue", shape.queue_ms},
               {"ttft_breakdown_ms.lookup", 0.0},
               {"ttft_breakdown_ms.load", shape.load_ms},
               {"ttft_breakdown_ms.restore_compute", shape.compute_ms},
               {"ttft_breakdown_ms.prefill", prefill_ms}};
  return r;
}

constexpr double kKiB = 1024;

// hcache: 20 ms above ideal with history, kv_offload 30, recompute 160.
std::vector<RunResult> four() {
  return {result("recompute", {200, 980, 180, 0, 1.92, 0.71, 40, 0, 0}),
          result("kv_offload", {69, 260, 50, 512 * kKiB, 1.41, 0.92, 9, 38, 0, "ssd_read"}),
          result("hcache", {51, 190, 40, 264 * kKiB, 1.38, 0.82, 5, 20, 6, "ssd_read"}),
          result("ideal", {22, 80, 20, 0, 1.30, 0.47, 2, 0, 0})};
}
const std::vector<std::string> kFour = {"recompute", "kv_offload", "hcache", "ideal"};

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

std::size_t line_count(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

// The text with line breaks as spaces, so that a sentence is found wherever it was broken.
std::string unwrapped(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void expect_says(const std::string& table, const std::string& sentence) {
  EXPECT_NE(unwrapped(table).find(sentence), std::string::npos) << sentence << "\nis not in\n" << table;
}

void expect_silent(const std::string& table, const std::string& words) {
  EXPECT_EQ(unwrapped(table).find(words), std::string::npos) << words << "\nis in\n" << table;
}

TEST(ResultTable, ShowsEachMetricInTheUnitOfItsRow) {
  RunResult result;
  result.metrics = {{"p99_ttft_ms", 123.0},
                    {"p99_itl_ms", 45.0},
                    {"token_hit_rate", 0.25},
                    {"stored_bytes_per_token", 524288.0},
                    {"offered_load", 0.2},
                    {"utilization.gpu", 0.5},
                    {"cost.usd_per_million_output_tokens", 7.5},
                    {"cost.storage_usd_per_hit", 2e-6}};
  std::map<std::string, std::string> shown;
  for (const ResultRow& row : result_rows({result})) shown[row.name + " in " + row.unit] = row.cells.at(0);
  EXPECT_EQ(shown.at("p99 TTFT in ms"), "123");
  EXPECT_EQ(shown.at("p99 ITL in ms"), "45.0");
  EXPECT_EQ(shown.at("token hit rate in %"), "25.0");
  EXPECT_EQ(shown.at("stored in KiB/token"), "512");
  // A step runs half of the time: not half of the load, which a row of its own has.
  EXPECT_FALSE(shown.contains("GPU busy in %"));
  EXPECT_EQ(shown.at("offered load in %"), "20.0");
  EXPECT_EQ(shown.at("cost in $/M tokens"), "7.50");
  EXPECT_EQ(shown.at("storage in $/M hits"), "2.00");
}

TEST(ResultTable, FitsTheTerminalAndHasARowAMetric) {
  const std::string table = result_table(kFour, four(), {}, "chat-7b   llama-2-7b on 1x A100-40G   seed 1");
  EXPECT_LE(widest_line(table), 100u) << table;
  EXPECT_LE(line_count(table), 28u) << table;
  EXPECT_EQ(table.substr(0, 7), "chat-7b");
  // Statistics of one latency stand below each other.
  EXPECT_NE(table.find("TTFT mean               ms         200        69.0        51.0        22.0\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("\n     p99                ms         980"), std::string::npos) << table;
  EXPECT_NE(table.find("\nITL  p99                ms"), std::string::npos) << table;
  EXPECT_NE(table.find("cost            $/M tokens"), std::string::npos) << table;
  expect_says(table, "ideal = what ideal does");
  expect_says(table, "recompute = what recompute does");
}

TEST(ResultTable, SentencesFollowFromTheNumbers) {
  const std::string table = result_table(kFour, four(), {}, "header");
  // 180 - 20, 50 - 20, 40 - 20
  expect_says(table,
              "Turns with history take 20.0 ms longer with hcache than with ideal: "
              "8.00x as much with recompute and 1.50x as much with kv_offload.");
  expect_says(table, "It stores 48.4 % fewer bytes than kv_offload.");  // 1 - 264/512
  expect_says(table, "The busiest resource of hcache is reads from the SSDs (busy 82.0 % of the time).");
  // 51 - 22 = 29 = 20 loading + 6 projecting + 3 queueing
  expect_says(
      table,
      "Against ideal hcache loses 29.0 ms of mean TTFT: 20.0 loading, 6.00 projecting or recomputing, 3.00 "
      "queueing.");
  // 1 - 1.38/1.92, 1 - 1.38/1.41; ideal is no competitor
  expect_says(
      table,
      "hcache is cheapest: 1.38 $ per million output tokens, 28.1 % less than recompute and 2.13 % less than "
      "kv_offload.");
  expect_silent(table, "Warning");
}

// The bound is one on loads under the engine's own schedule: another schedule may be faster.
TEST(ResultTable, SaysWhyAPolicyIsBelowIdeal) {
  auto results = four();
  results[2] = result("hcache", {15, 60, 8, 264 * kKiB, 1.38, 0.82, 5, 2, 0, "ssd_read"});
  const std::string below =
      "The mean TTFT of hcache is 7.00 ms lower than that of ideal: 12.0 less prefilling, 3.00 more "
      "queueing, "
      "2.00 more loading. ideal bounds what loads cost under the engine's own schedule";
  std::string table = result_table(kFour, results, {}, "header");
  expect_says(table, below + ", and the two schedules differ.");
  // Beyond that of ideal no time is left, so the times themselves are compared: 8 against 180 and 50 ms.
  expect_says(
      table,
      "hcache serves turns with history fastest (8.00 ms from admission to first token; mean TTFT with "
      "queueing 15.0 ms): 22.5x faster than recompute and 6.25x faster than kv_offload.");
  expect_silent(table, "policy.preload=layerwise");
  results[2].notes = {"hcache computes restored prompts in steps of their own (policy.preload=layerwise)"};
  table = result_table(kFour, results, {}, "header");
  expect_says(table, below +
                         "; hcache computes restored prompts in steps of their own, so the schedule "
                         "decides here and not the loads.");
  expect_silent(table, "gives kv_offload the same schedule");  // it stores other bytes
  results[2].metrics = result("hcache", {15, 60, 8, 512 * kKiB, 1.38, 0.82, 5, 2, 0, "ssd_read"}).metrics;
  expect_says(result_table(kFour, results, {}, "header"),
              "policy.preload=layerwise gives kv_offload the same schedule.");
  results[1].notes = results[2].notes;
  expect_silent(result_table(kFour, results, {}, "header"), "the same schedule.");
  // Within chance it is not below.
  const std::vector<Difference> chance = {{"hcache", "ideal", "mean_ttft_ms", -7, 8}};
  expect_says(result_table(kFour, results, chance, "header"),
              "is not noticeably different from that of ideal.");
}

// 69 - 51 = 18 ms: (38 - 20) + (9 - 5) - 6 + (22 - 20), of which batching takes 4 ms and 1 ms.
TEST(ResultTable, SaysPartByPartWhatTheFastestGainsOverTheNext) {
  auto results = four();
  results[1].metrics.push_back({"mean_batching_ms", 4.0});
  results[2].metrics.push_back({"mean_batching_ms", 1.0});
  expect_says(result_table(kFour, results, {}, "header"),
              "Over kv_offload it gains 18.0 ms of mean TTFT: 18.0 less loading, 6.00 more projecting or "
              "recomputing, 4.00 less queueing, 3.00 less sharing steps with others, 1.00 more prefilling.");
  // What cannot serve the rate is no competitor.
  results[1].metrics.front().value = std::string("saturated");
  expect_says(result_table(kFour, results, {}, "header"), "Over recompute it gains 149 ms of mean TTFT");
}

TEST(ResultTable, NamesAnotherWinnerWhenTheNumbersDo) {
  auto results = four();  // grouped-query attention: hidden states are larger than KV
  results[1] = result("kv_offload", {40, 150, 30, 128 * kKiB, 1.2, 0.3, 2, 8, 0});
  const std::string table = result_table(kFour, results, {}, "header");
  expect_says(table,
              "Turns with history take 10.0 ms longer with kv_offload than with ideal: "
              "16.0x as much with recompute and 2.00x as much with hcache.");
  expect_says(table, "It stores 51.5 % fewer bytes than hcache.");  // 1 - 128/264
  expect_says(table,
              "No resource of kv_offload is near its limit; the busiest is the GPU (30.0 % of the time).");
  expect_says(table, "kv_offload is cheapest");
}

TEST(ResultTable, WithoutIdealComparesServiceTimes) {
  auto results = four();
  results.pop_back();
  const std::string table = result_table({"recompute", "kv_offload", "hcache"}, results, {}, "header");
  expect_says(
      table,
      "hcache serves turns with history fastest (40.0 ms from admission to first token; mean TTFT with "
      "queueing 51.0 ms): 4.50x faster than "
      "recompute and 1.25x faster than kv_offload.");
  expect_silent(table, "Against ideal");
}

TEST(ResultTable, TailDifferencesSayWhenChanceExplainsThem) {
  const std::vector<Difference> differences = {{"kv_offload", "recompute", "p99_ttft_ms", -720, 39},
                                               {"hcache", "recompute", "p99_ttft_ms", 3, 8},
                                               {"hcache", "recompute", "mean_ttft_ms", -7, 1}};
  const std::string table = result_table(kFour, four(), differences, "header");
  expect_says(table,
              "p99 TTFT against recompute: kv_offload 720 +-39 ms lower and hcache 3.0 +-8.0 ms higher (not "
              "significant).");
}

TEST(ResultTable, OneRunGivesDifferencesWithoutIntervals) {
  const std::string table =
      result_table(kFour, four(), {{"hcache", "recompute", "p99_ttft_ms", -790, kNaN}}, "header");
  expect_says(table, "p99 TTFT against recompute: hcache 790 ms lower; one run, so chance is not excluded.");
  expect_silent(table, "not significant");
}

TEST(ResultTable, OneRunTellsOfTheMeanWhatItsBatchesTell) {
  std::vector<Difference> differences = {{"kv_offload", "recompute", "p99_ttft_ms", -720, kNaN},
                                         {"kv_offload", "recompute", "mean_ttft_ms", -131, 12},
                                         {"hcache", "recompute", "p99_ttft_ms", -790, kNaN},
                                         {"hcache", "recompute", "mean_ttft_ms", -1.2, 4}};
  expect_says(result_table(kFour, four(), differences, "header"),
              "Mean TTFT against recompute, by batches of one run: kv_offload 131 +-12 ms lower and hcache "
              "1.2 +-4.0 ms lower (not significant).");
}

TEST(ResultTable, ClaimsNothingThatChanceMayHaveMade) {
  const char* bring_back = "mean_service_ttft_with_history_ms";
  const char* cost = "cost.usd_per_million_output_tokens";
  const auto said = [&](double half_ms, double half_usd) {
    return result_table(
        {"kv_offload", "hcache", "ideal"}, {four()[1], four()[2], four()[3]},
        {{"hcache", "kv_offload", bring_back, -10, half_ms}, {"hcache", "kv_offload", cost, -0.03, half_usd}},
        "header");
  };
  expect_says(said(9, 0.02),
              "take 20.0 ms longer with hcache than with ideal: 1.50x as much with kv_offload.");
  expect_says(said(9, 0.02), "2.13 % less than kv_offload.");
  expect_says(
      said(11, 0.02),
      "take 20.0 ms longer with hcache than with ideal: 1.50x as much with kv_offload (not significant).");
  expect_says(said(9, 0.04), "2.13 % less than kv_offload (not significant).");
}

TEST(ResultTable, SetsStorageBesideTheGpuHoursThatItSaves) {
  auto results = four();
  for (RunResult& r : results) {
    r.metrics.push_back({"cost.usd_per_gpu_hour", 5.0});
    r.metrics.push_back({"cost.usd_per_saved_gpu_hour", r.policy == "hcache" ? 0.42 : kNaN});
  }
  const char* sentence = "Storage costs hcache 0.420 $ per GPU-hour that it saves; a GPU-hour costs 5.00 $.";
  expect_says(result_table(kFour, results, {}, "header"), sentence);
  expect_says(result_table({"hcache"}, {results[2]}, {}, "header"), sentence);
  expect_silent(result_table({"recompute"}, {results[0]}, {}, "header"), "GPU-hour");
}

TEST(ResultTable, HasRowsOfEnergyAndHitsOnlyWhereTheyAreKnown) {
  auto results = std::vector<RunResult>{four()[2]};
  expect_silent(result_table({"hcache"}, results, {}, "header"), "J/token");
  results[0].metrics.push_back({"energy.joules_per_output_token", 3.14});
  results[0].metrics.push_back({"cost.storage_usd_per_hit", 0.0042});
  const std::string table = result_table({"hcache"}, results, {}, "header");
  EXPECT_NE(table.find("storage                     $/M hits       4,200"), std::string::npos) << table;
  EXPECT_NE(table.find("energy                       J/token        3.14"), std::string::npos) << table;
  EXPECT_LE(widest_line(table), 100u);
}

TEST(ResultTable, NothingIsCheapestWhereAllCostTheSame) {
  auto results = four();
  for (RunResult& r : results) {
    for (Metric& metric : r.metrics) {
      if (metric.name == "cost.usd_per_million_output_tokens") metric.value = 2.0;
    }
  }
  const std::string table = result_table(kFour, results, {}, "header");
  expect_says(table, "All cost the same: 2.00 $ per million output tokens.");
  expect_silent(table, "cheapest");
}

TEST(ResultTable, WarnsOfEverySettingThatCannotServeTheRate) {
  auto results = four();
  results[0].metrics[0].value = std::string("saturated");
  const std::string table = result_table(kFour, results, {}, "header");
  expect_says(table, "recompute cannot serve this load: more arrives than leaves.");
  expect_says(table, "hcache is cheapest: 1.38 $ per million output tokens, 2.13 % less than kv_offload.");
}

TEST(ResultTable, ShowsIntervalsOfReplications) {
  auto results = four();
  for (RunResult& r : results)
    r.intervals = {{"mean_ttft_ms", r.number("mean_ttft_ms"), 1.24}, {"token_hit_rate", 0.935, 1e-16}};
  const std::string table = result_table(kFour, results, {}, "header");
  EXPECT_NE(table.find("51.0 +-1.2"), std::string::npos) << table;
  EXPECT_EQ(table.find("93.5 +-"), std::string::npos) << table;
  EXPECT_LE(widest_line(table), 100u) << table;
}

TEST(ResultTable, ManySettingsGoIntoSeveralBlocks) {
  std::vector<RunResult> results;
  std::vector<std::string> labels;
  for (int i = 0; i < 9; ++i) {
    results.push_back(
        result("hcache", {51.0 + i, 190, 40.0 + i, 264 * kKiB, 1.38, 0.82, 5, 20, 6, "ssd_read"}));
    labels.push_back("hardware.ssd.count=" + std::to_string(i + 1));
  }
  const std::string table = result_table(labels, results, {}, "header");
  EXPECT_LE(widest_line(table), 100u) << table;
  for (const std::string& label : labels) EXPECT_NE(table.find(label), std::string::npos);
  expect_says(table, "hardware.ssd.count=1 serves turns with history fastest");
  expect_says(table, "It stores as many bytes as hardware.ssd.count=2");
}

TEST(ResultTable, LongLabelsAreShortenedAtTheirBeginning) {
  const std::string label = std::string(150, 'x') + "=8";
  const std::string table = result_table({label}, {four()[2]}, {}, "header");
  std::istringstream lines(table);
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  std::getline(lines, line);
  EXPECT_EQ(line.size(), 100u);
  EXPECT_EQ(line.substr(98), "=8");
}

TEST(ResultTable, OneResultIsDescribedInWords) {
  RunResult r = four()[2];
  r.quality_note = "approximate: 15 % of the tokens are recomputed";
  const std::string table = result_table({"hcache"}, {r}, {}, "header");
  expect_says(table, "hcache = what hcache does");
  expect_says(table, "; approximate: 15 % of");
  expect_says(
      table,
      "Of every 100 prompt tokens (history and new) 93.5 came from stored state; 80.0 % of the turns reused "
      "some.");
  expect_says(table, "The busiest resource of hcache is reads from the SSDs (busy 82.0 % of the time).");
  expect_says(
      table,
      "Mean TTFT of 51.0 ms: 20.0 loading, 20.0 prefilling, 6.00 projecting or recomputing, 5.00 queueing.");
  EXPECT_LE(line_count(table), 24u) << table;
}

TEST(ResultTable, HasARowOfGoodputWhereTargetsAreGivenAndOfWhatIsAskedFor) {
  auto results = std::vector<RunResult>{four()[2]};
  results[0].metrics.push_back({"request_goodput", kNaN});
  results[0].metrics.push_back({"p90_ttft_ms", 123.0});
  const auto table = [&](const TableOptions& options) {
    return result_table({"hcache"}, results, {}, "header", options);
  };
  expect_silent(table({}), "goodput");
  expect_silent(table({}), "123");
  EXPECT_NE(table({.metrics = {"p90_ttft_ms"}}).find("\n     p90                          ms         123"),
            std::string::npos)
      << table({.metrics = {"p90_ttft_ms"}});
  results[0].metrics[results[0].metrics.size() - 2].value = 0.0;
  EXPECT_NE(table({}).find("\ngoodput                   requests/s           0"), std::string::npos)
      << table({});
}

TEST(ResultTable, IsBriefInTwoSentencesAndCountsTheRest) {
  auto results = four();
  results.pop_back();
  for (RunResult& one : results)
    one.notes = {"assumed: acceptance_length 1.76", "loads block", "sessions share no text"};
  const std::vector<std::string> labels = {"recompute", "kv_offload", "hcache"};
  const std::string brief = result_table(labels, results, {}, "header", {.is_brief = true, .assumptions = 1});
  expect_says(
      brief,
      "In one run the p99 TTFT of hcache is 80.6 % lower than that of recompute (190 against 980 ms), which "
      "may be chance. In one run the p99 TTFT of hcache is 26.9 % lower than that of kv_offload (190 against "
      "260 ms), which may be chance; hcache stores 48.4 % fewer bytes. 2 notes and 2 assumptions: --explain");
  expect_silent(brief, "what hcache does");
  expect_silent(brief, "busiest");
  expect_silent(brief, "loads block");
  const std::string whole = result_table(labels, results, {}, "header");
  expect_says(whole, "Notes:   loads block.   sessions share no text.");
  expect_says(whole, "assumed: acceptance_length 1.76.");
  expect_says(whole, "what hcache does");
  expect_silent(whole, "--explain");
  results[0].notes = results[1].notes = results[2].notes = {};
  expect_silent(result_table(labels, results, {}, "header", {.is_brief = true}), "--explain");
}

// Who answers few answers them fast: hcache rejects 60 % and wins nothing.
TEST(ResultTable, SaysWhoRejectsTurnsAndNamesThemNoWinner) {
  std::vector<RunResult> results = four();
  for (RunResult& one : results) {
    const double share = one.policy == "hcache" ? 0.6 : one.policy == "kv_offload" ? 0.0005 : 0;
    one.metrics.push_back({"rejected", share * 1000});
    one.metrics.push_back({"rejected_share", share});
  }
  const std::string table = result_table(kFour, results, {}, "header");
  expect_says(
      table,
      "kv_offload rejects 0.0500 % and hcache rejects 60.0 % of the turns, and latencies are those of the "
      "others.");
  expect_silent(table, "longer with hcache than with ideal");
  expect_says(table, "longer with kv_offload than with ideal");
}

}  // namespace
}  // namespace kvcap::metrics_table_test
