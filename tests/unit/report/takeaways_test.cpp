// What a report says of its documents, and of those before and after.
#include "report/takeaways.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "report/changes.h"
#include "unit/report_documents.h"

namespace kvcap::takeaways_test {
namespace {

std::vector<std::string> said(const std::vector<ReportDocument>& inputs, const std::string& page) {
  for (const auto& [name, sentences] : takeaways(inputs))
    if (name == page) return sentences;
  ADD_FAILURE() << "no page " << page;
  return {};
}

void expect_says(const std::vector<std::string>& sentences, const std::string& sentence) {
  std::string all;
  for (const std::string& one : sentences) all += one + "\n";
  EXPECT_NE(all.find(sentence), std::string::npos) << sentence << "\nis not in\n" << all;
}

// ---- takeaways ----

TEST(Takeaways, SayByHowMuchTheBestIsAhead) {
  // Paired: 182 - 260 = -78 +- 8; 1 - 182/260 = 30 %, 1 - 264/512 = 48.4 %.
  const Json compare =
      comparison({result("kv_offload", 260, 30, 512, 0.9), result("hcache", 182, 20, 264, 0.8)},
                 {difference("hcache", "kv_offload", -78, 8)});
  const std::vector<ReportDocument> inputs = {input("chat", compare)};
  expect_says(said(inputs, "overview"),
              "hcache lowers p99 TTFT by 30.0 % against kv_offload (182 against 260 ms, 78.0 \u00b1 8.0 ms "
              "lower) and "
              "stores 48.4 % fewer bytes.");
  expect_says(said(inputs, "latency"), "hcache lowers p99 TTFT by 30.0 %");
  expect_says(said(inputs, "cache"),
              "Of every 100 prompt tokens (history and new), this many came from stored state: 90.0 with "
              "kv_offload and hcache.");
  expect_says(said(inputs, "cache"), "It stores 48.4 % fewer bytes than kv_offload.");
  expect_says(said(inputs, "resources"),
              "The busiest resource of hcache is reads from the SSDs (busy 80.0 % of the time).");
  expect_says(said(inputs, "resources"), "hcache uses up the rated writes of the SSDs in 2.50 years.");
  EXPECT_TRUE(said(inputs, "restoration").empty());
  EXPECT_TRUE(said(inputs, "changes").empty());
}

TEST(Takeaways, BeginWithTheLargestDecidedDifference) {
  Json recompute = result("recompute", 400, 30, 0, 0.2), hcache = result("hcache", 390, 30, 264, 0.8);
  const auto paired = [](const char* metric, double value, double half_width) {
    Json one = difference("hcache", "recompute", value, half_width);
    one["metric"] = metric;
    return one;
  };
  recompute["metrics"]["mean_e2el_ms"] = 1000;
  hcache["metrics"]["mean_e2el_ms"] = 800;
  const auto first = [&](const std::vector<Json>& differences) {
    return said({input("chat", comparison({recompute, hcache}, differences))}, "overview").front();
  };
  // p99 TTFT is undecided; mean TTFT is 2.5 % lower, and E2EL 20 %.
  const std::vector<Json> all = {paired("p99_ttft_ms", -10, 20), paired("mean_ttft_ms", -2.5, 1),
                                 paired("mean_e2el_ms", -200, 50)};
  EXPECT_EQ(first(all),
            "hcache has a 20.0 % lower mean E2EL than recompute (800 against 1,000 ms, 200 \u00b1 50 ms "
            "lower), the "
            "largest difference that these runs decide.");
  EXPECT_EQ(first({all[0]}).find("largest"), std::string::npos);
  recompute["metrics"]["stable"]["verdict"] = "saturated";
  EXPECT_NE(first(all).find("cannot serve this load"), std::string::npos) << first(all);
}

TEST(Takeaways, NameAnAssumedAcceptanceOnce) {
  const std::string note = "assumed: acceptance_length 1.76, the low end of what is published";
  Json one = result("kv_offload", 260, 30, 512, 0.9), other = result("hcache", 182, 20, 264, 0.8);
  one["notes"] = other["notes"] = {note, "loads block"};
  std::string all;
  for (const auto& [name, sentences] : takeaways({input("new", comparison({one, other}))}))
    for (const std::string& sentence : sentences) all += sentence + "\n";
  const std::size_t found = all.find(note + ".");
  ASSERT_NE(found, std::string::npos) << all;
  EXPECT_EQ(all.find(note, found + 1), std::string::npos) << all;
  EXPECT_EQ(all.find("loads block"), std::string::npos) << all;
}

TEST(Takeaways, HalveAndDoNotKnow) {
  const auto headline_of = [](double p99_ms, double half_width_ms) {
    return said({input("chat", comparison({result("recompute", 200, half_width_ms, 0, 0.2),
                                           result("kv_offload", p99_ms, half_width_ms, 512, 0.9)}))},
                "overview")
        .front();
  };
  // As if independent: sqrt(2) 10.
  EXPECT_EQ(headline_of(100, 10),
            "kv_offload halves p99 TTFT against recompute (100 against 200 ms, 100 \u00b1 14 ms lower).");
  EXPECT_EQ(
      headline_of(190, 10),
      "These runs do not show whether kv_offload or recompute has the lower p99 TTFT (190 against 200 ms, "
      "10 \u00b1 14 ms lower).");
}

TEST(Takeaways, OfARestorationAreTheseFactors) {
  // 80 / 40; |40 - 41| / (40 + 10).
  const std::vector<ReportDocument> inputs = {input("r", restoration(0.04, 0.08))};
  const std::vector<std::string> sentences = said(inputs, "restoration");
  expect_says(sentences,
              "hcache restores 4,096 tokens of m from ssd on h in 40.0 ms: 2.00x faster than kv_offload.");
  expect_says(sentences, "hcache keeps 264 KiB per token");
  expect_says(sentences, "loading is the bottleneck.");
  expect_says(sentences, "differ by at most 2.00 % of TTFT (hcache).");
  EXPECT_EQ(said(inputs, "overview").front(), sentences.front());
}

TEST(Takeaways, OfValidationsCountVerdictsAndPromises) {
  std::vector<Json> checks = {check("a", "inside", 0, true), check("b", "near", 0.05),
                              check("c", "outside", 0.5), check("d", "not comparable", 9)};
  expect_says(said({input("v", validation(checks))}, "validation"),
              "Of 3 numbers compared with published, measured or analytic ones, 1 are inside, 1 near and 1 "
              "outside; 1 "
              "cannot be compared.");
  expect_says(said({input("v", validation(checks))}, "validation"),
              "The one number with a stated accuracy is within it.");
  expect_says(said({input("v", validation(checks))}, "validation"),
              "The largest error is that of c, 50.0 %.");
  Json fitted = check("e", "outside", 0.9);
  fitted["role"] = "fitted";
  checks.push_back(fitted);
  expect_says(said({input("v", validation(checks))}, "validation"), "Of 3 numbers");
  expect_says(said({input("v", validation(checks))}, "validation"),
              "1 more is no evidence, because the model was fitted to it or was given it.");
  expect_says(said({input("v", validation(checks))}, "validation"),
              "The largest error is that of c, 50.0 %.");
  checks[2]["promised"] = true;
  expect_says(said({input("v", validation(checks))}, "validation"), "Outside the stated accuracy: c.");
}

TEST(Takeaways, OfSweepsNameTheBestPointAndWhatMattersMost) {
  Json rows = sweep({400, 800, 100, 0}, {"stable", "stable", "stable", "saturated"});
  rows["columns"]["p99_ttft_ms"][3] = nullptr;
  const std::vector<std::string> sentences = said({input("s", rows)}, "sweep");
  // Medians: 600 with 1 SSD, 100 with 4; 250 with a, 800 with b.
  expect_says(sentences, "p99 TTFT depends most on the SSDs: its median is 100 ms at 4 and 600 ms at 1.");
  expect_says(sentences, "The lowest p99 TTFT is 100 ms (4 SSDs, a), the highest 800 ms (1 SSD, b).");
  expect_says(
      sentences,
      "1 of 4 points cannot serve their rate: charts and tables show them, these sentences leave them out.");
  expect_says(sentences, "3 of 4 points ran, 1 failed. One run a point, so small differences may be chance.");
}

// Points of a low rate have low latencies and dear tokens whatever is chosen: the rate is no choice.
TEST(Takeaways, OfSweepsCompareChoicesUnderTheHeaviestLoadThatMostPointsServe) {
  const std::string rate = "workload.arrivals.sessions_per_s", cost = "cost.usd_per_million_output_tokens";
  Json rows = {{"schema", "kvcap.sweep_rows/1"},
               {"name", "s"},
               {"rows", 6},
               {"total_rows", 6},
               {"parameters", {"policy.name", rate}},
               {"metrics", {"p99_ttft_ms", cost}},
               {"columns",
                {{"status", {"ok", "ok", "ok", "ok", "ok", "ok"}},
                 {"stable.verdict", {"stable", "stable", "stable", "stable", "saturated", "stable"}},
                 {"policy.name", {"a", "b", "a", "b", "a", "b"}},
                 {rate, {0.1, 0.1, 0.2, 0.2, 0.4, 0.4}},
                 {"p99_ttft_ms", {10, 20, 300, 100, 9000, 150}},
                 {cost, {9, 9, 5, 6, 3, 3}}}}};
  std::vector<std::string> sentences = said({input("s", rows)}, "sweep");
  expect_says(
      sentences,
      "At session rate 0.200 sessions/s, p99 TTFT depends most on the policy: its median is 100 ms at b "
      "and 300 ms at a.");
  expect_says(sentences,
              "At session rate 0.200 sessions/s, the lowest p99 TTFT is 100 ms (b), the highest 300 ms (a).");
  expect_says(sentences, "the lowest cost is 5.00 $/M tokens (a), the highest 6.00 $/M tokens (b).");
  // Nothing but the load: its ends, and no cost.
  rows["parameters"] = {rate};
  sentences = said({input("s", rows)}, "sweep");
  expect_says(sentences,
              "The lowest p99 TTFT is 10.0 ms (session rate 0.100 sessions/s), the highest 300 ms");
  for (const std::string& one : sentences) EXPECT_EQ(one.find("cost"), std::string::npos) << one;
}

TEST(Takeaways, OfSweepsHaveSizesInTheUnitsOfFields) {
  const std::string path = "policy.tiers.0.capacity_bytes";
  Json rows = sweep({400, 100}, {"stable", "stable"});
  rows["parameters"] = {path};
  rows["columns"] = {{"status", {"ok", "ok"}}, {path, {2e9, 128e9}}, {"p99_ttft_ms", {400, 100}}};
  const std::vector<std::string> sentences = said({input("s", rows)}, "sweep");
  expect_says(
      sentences,
      "p99 TTFT depends most on the tier 1 capacity: its median is 100 ms at 128 GB and 400 ms at 2.00 GB.");
  expect_says(sentences, "The lowest p99 TTFT is 100 ms (tier 1 capacity 128 GB)");
}

TEST(Takeaways, OfPlansNameTheAnswerAndItsRivals) {
  Json plan = {{"schema", "kvcap.plan_result/1"},
               {"name", "p"},
               {"minimize", "cost.usd_per_hour"},
               {"simulations", 12},
               {"answer",
                {{"changes", {"hardware.ssd.count=2"}},
                 {"metrics",
                  {{"cost.usd_per_hour", {{"mean", 5.5}, {"interval", nullptr}}},
                   {"p99_ttft_ms", {{"mean", 400}, {"interval", {380, 420}}}}}}}},
               {"purchase", "1x A100, 2 SSDs"},
               {"binding", "p99_ttft_ms"},
               {"rivals", {{{"changes", {"x=1"}}}}},
               {"judged", Json::array()}};
  std::vector<std::string> sentences = said({input("p", plan)}, "plan");
  expect_says(sentences,
              "Buy 1x A100, 2 SSDs: cost per hour 5.50 $/h, p99 TTFT 400 \u00b1 20 ms (12 simulations).");
  expect_says(sentences, "These runs do not distinguish it from 1 other configuration.");
  expect_says(sentences, "The target with the least room is p99 TTFT.");
  // Clear, or one seed; not known without rivals in documents that do not say.
  plan["rivals"] = Json::array();
  plan["answer"]["replications"] = 3;
  plan["clear"] = true;
  expect_says(said({input("p", plan)}, "plan"),
              "It is clear: over 3 seeds every target is met beyond its interval");
  plan["clear"] = false;
  expect_says(said({input("p", plan)}, "plan"), "One seed, so chance is not excluded");
  plan["answer"] = nullptr;
  plan["nearest"] = {{"changes", {"x=1", "y=2"}}, {"reason", "p99_ttft_ms"}};
  sentences = said({input("p", plan)}, "plan");
  expect_says(sentences,
              "No configuration meets every target (12 simulations). Nearest is x 1, y 2, which misses p99 "
              "TTFT.");
}

TEST(Takeaways, OfBreakEvenMapsCountWins) {
  const auto cell = [](const char* across, const char* winner, const char* expected) -> Json {
    return {{"across", across}, {"down", "512"}, {"winner", winner}, {"closed_form_winner", expected}};
  };
  const Json map = {
      {"schema", "kvcap.break_even/1"},
      {"across", "bandwidth"},
      {"down", "tokens"},
      {"cells",
       {cell("1", "recompute", "recompute"), cell("2", "hcache", "recompute"),
        cell("3", "hcache", "hcache")}},
      {"boundaries", {{{"down", "512"}, {"from", "recompute"}, {"to", "hcache"}, {"simulated", 1.5}}}}};
  const std::vector<std::string> sentences = said({input("b", map)}, "sweep");
  expect_says(sentences, "Of 3 (bandwidth, tokens) pairs, hcache wins 2, recompute 1.");
  expect_says(sentences, "The closed form names the same winner in 2 of 3.");
  expect_says(sentences, "At 512 tokens, recompute gives way to hcache at bandwidth 1.50.");
}

TEST(Takeaways, OfACapacitySayWhatItServesAndWhatMoreMisses) {
  Json capacity = capacity_document();
  std::vector<std::string> sentences = said({input("c", capacity)}, "capacity");
  expect_says(sentences,
              "hcache serves 2.00 requests/s within p99 TTFT \u2264 500 ms (95 % interval 1.90 to 2.20); "
              "higher loads "
              "miss p99 TTFT.");
  expect_says(sentences,
              "At 2.50 requests/s p99 TTFT is 900 ms and 2.25 requests/s meet the service level objectives.");
  expect_says(sentences, "Up to 4.00 % of the turns are rejected.");
  capacity["capacity"] = {{"mean", 0}, {"interval", nullptr}};
  expect_says(said({input("c", capacity)}, "capacity"),
              "hcache meets p99 TTFT \u2264 500 ms at no load: even the lowest misses");
}

TEST(Takeaways, OfTracesSayWhatACacheCanFind) {
  const Json stats = {{"schema", "kvcap.trace_stats/1"},
                      {"infinite_cache_token_hit_rate", 0.8},
                      {"history_token_share", 0.9},
                      {"total_context_tokens", 5000},
                      {"miss_ratio_curve",
                       {{{"capacity_tokens", 100}, {"token_miss_ratio", 0.6}},
                        {{"capacity_tokens", 1000}, {"token_miss_ratio", 0.25}},
                        {{"capacity_tokens", 2000}, {"token_miss_ratio", 0.2}}}}};
  const std::vector<std::string> sentences = said({input("t", stats)}, "cache");
  expect_says(sentences, "An unlimited cache has hits on 80.0 % of all prompt tokens; history is 90.0 %");
  // The first that finds 0.9 x 0.8 = 0.72.
  expect_says(sentences, "An LRU cache of 1,000 tokens has hits on 75.0 %; all contexts have 5,000 tokens.");
}

TEST(Takeaways, NameTheirInputWhereSeveralSpeak) {
  const std::vector<ReportDocument> inputs = {input("r1", restoration(0.04, 0.08)),
                                              input("r2", restoration(0.02, 0.08))};
  expect_says(said(inputs, "restoration"), "r1: hcache restores");
  expect_says(said(inputs, "restoration"), "r2: hcache restores");
}

// ---- before and after ----

TEST(Changes, OfResultsHaveIntervalsAsIfIndependent) {
  const std::vector<ReportDocument> inputs = {
      input("new", comparison({result("hcache", 182, 3, 264, 0.8), result("ideal", 80, 3, 0, 0.8)})),
      input("old", comparison({result("hcache", 260, 4, 264, 0.8), result("kv_offload", 1, 1, 1, 0)}), true)};
  const std::vector<Change> all = changes(inputs);
  const auto p99 = std::find_if(all.begin(), all.end(),
                                [](const Change& change) { return change.metric == "p99_ttft_ms"; });
  ASSERT_NE(p99, all.end());
  EXPECT_EQ(p99->setting, "hcache");
  EXPECT_EQ(p99->difference(), -78);
  EXPECT_DOUBLE_EQ(p99->half_width, 5);  // 3 and 4
  EXPECT_TRUE(p99->can_tell());
  EXPECT_TRUE(std::none_of(all.begin(), all.end(), [](const Change& c) { return c.setting != "hcache"; }));
  expect_says(said(inputs, "changes"),
              "new, hcache: mean TTFT 19.5 ms lower (45.5 against 65.0 ms before), p99 TTFT "
              "78.0 \u00b1 5.0 ms lower (182 against 260 ms before)");
}

// Every seed is 10, 11 and 12 ms faster: 11 +- 2.48 (t of 2 degrees: 4.303, over sqrt 3), though the seeds
// themselves differ by 100 ms.
TEST(Changes, OfTheSameWorkloadArePaired) {
  Json now = result("hcache", 189, 120, 264, 0.8), then = result("hcache", 200, 120, 264, 0.8);
  for (Json* one : {&now, &then}) (*one)["scenario"]["workload"] = {{"sessions", 20}};
  now["samples"] = {{"turns", {50, 51, 52}}, {"p99_ttft_ms", {90, 189, 288}}};
  then["samples"] = {{"turns", {50, 51, 52}}, {"p99_ttft_ms", {100, 200, 300}}};
  const auto p99 = [&] {
    const std::vector<Change> all = changes({input("new", now), input("old", then, true)});
    return *std::find_if(all.begin(), all.end(),
                         [](const Change& one) { return one.metric == "p99_ttft_ms"; });
  };
  EXPECT_NEAR(p99().half_width, 2.484, 0.001);
  EXPECT_TRUE(p99().can_tell());
  const double independent = std::hypot(120, 120);
  then["samples"]["turns"][1] = 49;
  EXPECT_NEAR(p99().half_width, 2.484, 0.001) << "a longer run of a seed";
  then["samples"]["turns"][1] = 51;
  then["scenario"]["seed"] = 2;
  EXPECT_DOUBLE_EQ(p99().half_width, independent) << "another seed";
  then["scenario"]["seed"] = 1;
  then["scenario"]["workload"]["sessions"] = 21;
  EXPECT_DOUBLE_EQ(p99().half_width, independent) << "another workload";
}

TEST(Changes, SayWhereRunsCannotTellAndWhereNothingChanged) {
  const auto sentences = [](double p99_ms) {
    Json now = result("hcache", 100, 30, 264, 0.8), then = result("hcache", p99_ms, 40, 264, 0.8);
    for (Json* one : {&now, &then}) (*one)["metrics"].erase("mean_ttft_ms");
    return said({input("new", now), input("old", then, true)}, "changes");
  };
  expect_says(sentences(120), "new, hcache: no clear change; 1 difference is not significant.");
  expect_says(sentences(100), "new, hcache: as before.");
}

TEST(Changes, MatchRestorationsChecksAndSweeps) {
  const std::vector<ReportDocument> inputs = {
      input("r", restoration(0.04, 0.08)),
      input("v", validation({check("a", "inside", 0.01), check("b", "near", 0.05), check("c", "inside", 0)})),
      input("s", sweep({100, 200, 300, 400}, {"stable", "stable", "stable", "stable"})),
      input("r0", restoration(0.05, 0.08), true),
      input("v0", validation({check("a", "near", 0.06), check("b", "inside", 0.02), check("c", "inside", 0)}),
            true),
      input("s0", sweep({110, 220, 330, 440}, {"stable", "stable", "stable", "stable"}), true)};
  const std::vector<std::string> sentences = said(inputs, "changes");
  expect_says(sentences, "r, hcache: restoration 10.0 ms lower (40.0 against 50.0 ms before).");
  expect_says(sentences, "r, kv_offload: as before.");
  expect_says(sentences, "v: of 3 checks on both sides, 1 have a better verdict (a) and 1 a worse one (b).");
  // Medians of four points: 250 and 275.
  expect_says(sentences,
              "s, median of 4 points: p99 TTFT 25.0 ms lower (250 against 275 ms before); one run each");
}

TEST(Changes, AreInTheUnitsThatTheyName) {
  Json now = result("hcache", 100, 30, 264, 0.8), then = result("hcache", 100, 30, 528, 0.4);
  then["metrics"]["token_hit_rate"] = 0.6;
  const std::vector<Change> all = changes({input("new", now), input("old", then, true),
                                           input("v", validation({check("a", "near", 0.01)})),
                                           input("v0", validation({check("a", "near", 0.06)}), true)});
  const auto of = [&](const std::string& metric) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Change& one) { return one.metric == metric; });
    return found == all.end() ? Change{} : *found;
  };
  EXPECT_EQ(of("token_hit_rate").unit, "%");
  EXPECT_NEAR(of("token_hit_rate").before, 60, 1e-9);
  EXPECT_NEAR(of("token_hit_rate").after, 90, 1e-9);
  EXPECT_EQ(of("stored_bytes_per_token").unit, "KiB/token");
  EXPECT_NEAR(of("stored_bytes_per_token").before, 528, 1e-9);
  EXPECT_EQ(of("error").unit, "%");
  EXPECT_NEAR(of("error").before, 6, 1e-9);
  EXPECT_NEAR(of("error").after, 1, 1e-9);
}

TEST(Changes, BeginWithTheVerdictsOfBothSides) {
  Json now = capacity_document(), then = now;
  const auto said_of = [&] { return said({input("c", now), input("c0", then, true)}, "changes").front(); };
  EXPECT_EQ(said_of(),
            "c, as before: hcache serves 2.00 requests/s within p99 TTFT \u2264 500 ms (95 % interval 1.90 "
            "to 2.20); "
            "higher loads miss p99 TTFT.");
  then["capacity"] = {{"mean", 0}, {"interval", nullptr}};
  EXPECT_EQ(
      said_of(),
      "c: hcache serves 2.00 requests/s within p99 TTFT \u2264 500 ms (95 % interval 1.90 to 2.20); "
      "higher loads miss "
      "p99 TTFT. Before: hcache meets p99 TTFT \u2264 500 ms at no load: even the lowest misses p99 TTFT.");
}

TEST(Changes, SaySoWhereNothingMatches) {
  expect_says(said({input("r", restoration(1, 2)), input("v", validation({}), true)}, "changes"),
              "Both sides have nothing in common that could be compared.");
}

}  // namespace
}  // namespace kvcap::takeaways_test
