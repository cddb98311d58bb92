#include "observe/observation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/input_error.h"
#include "text/observation_text.h"

namespace kvcap::observation_test {
namespace {

// A server that has answered `requests` in `time_s`, each in 0.05 s but one in ten in 0.15 s.
Snapshot at(double time_s, double requests, double running = 0) {
  Snapshot one;
  one.unix_s = time_s;
  one.counters.fill(NAN);
  one.gauges.fill(NAN);
  one.counters[static_cast<std::size_t>(Counter::requests)] = requests;
  one.counters[static_cast<std::size_t>(Counter::queried_tokens)] = 100 * requests;
  one.counters[static_cast<std::size_t>(Counter::hbm_hit_tokens)] = 30 * requests;
  one.counters[static_cast<std::size_t>(Counter::external_hit_tokens)] = 10 * requests;
  one.gauges[static_cast<std::size_t>(Gauge::running)] = running;
  one.spreads[static_cast<std::size_t>(Spread::ttft_s)] = {
      .bounds = {0.1, 0.2, INFINITY}, .counts = {0.9 * requests, requests, requests}, .sum = 0.06 * requests};
  return one;
}

TEST(Observation, IsWhatTotalsGrewBy) {
  const Observation o = observation_of({.samples = {at(1000, 50, 4), at(1010, 70, 6), at(1030, 150, 2)}});
  EXPECT_EQ(o.duration_s, 30);
  EXPECT_EQ(o.from_unix_s, 1000);
  EXPECT_EQ(o.requests_before, 50);
  EXPECT_EQ(o[Counter::requests], 100);
  EXPECT_DOUBLE_EQ(o.requests_per_s(), 100 / 30.0);
  EXPECT_DOUBLE_EQ(o.token_hit_rate(), 0.4);
  EXPECT_DOUBLE_EQ(o.hit_rate(Counter::hbm_hit_tokens), 0.3);
  EXPECT_TRUE(std::isnan(o.hit_rate(Counter::host_hit_tokens)));
  EXPECT_EQ(o[Gauge::running].mean, 4);
  EXPECT_EQ(o[Gauge::running].most, 6);
  EXPECT_EQ(o[Spread::ttft_s].counts, (std::vector<double>{90, 100, 100}));
  EXPECT_NEAR(mean_of(o[Spread::ttft_s]), 0.06, 1e-12);
  // 20 were answered and two more were inside; then 80 and four fewer.
  ASSERT_EQ(o.arrivals.size(), 2U);
  EXPECT_EQ(o.arrivals[0].requests, 22);
  EXPECT_EQ(o.arrivals[1].from_s, 10);
  EXPECT_EQ(o.arrivals[1].requests, 76);
}

// 50 before the restart, of which 20 in the window; 10 and 5 more after it.
TEST(Observation, AServerThatRestartsCountsFromZero) {
  const Observation o = observation_of({.samples = {at(0, 30), at(10, 50), at(20, 10, 1), at(30, 15, 1)}});
  EXPECT_EQ(o.restarts, 1);
  EXPECT_EQ(o[Counter::requests], 20 + 15);
  EXPECT_EQ(o[Spread::ttft_s].count(), 35);
  EXPECT_EQ(o.arrivals[1].requests, 11);
  ASSERT_EQ(o.notes.size(), 1U);
  EXPECT_NE(o.notes[0].find("counters were reset 1 time"), std::string::npos) << o.notes[0];
}

Snapshot with_drafts(double unix_s, double drafts, int tokens, std::vector<double> accepted) {
  Snapshot one = at(unix_s, 1);
  const auto set = [&](Counter which, double value) {
    one.counters[static_cast<std::size_t>(which)] = value;
  };
  set(Counter::drafts, drafts);
  set(Counter::draft_tokens, tokens * drafts);
  double sum = 0;
  for (std::size_t i = 0; i < accepted.size(); ++i) {
    sum += accepted[i];
    if (i < kDraftPositions)
      one.counters[static_cast<std::size_t>(Counter::accepted_at_1) + i] = accepted[i] * drafts;
  }
  set(Counter::accepted_tokens, sum * drafts);
  return one;
}

Observation of_drafts(int tokens, const std::vector<double>& accepted) {
  return observation_of(
      {.samples = {with_drafts(0, 500, tokens, accepted), with_drafts(10, 1500, tokens, accepted)}});
}

// 1,000 drafts of three tokens in the window: of 700, 300 and 200 the first, the second, the third was
// accepted.
TEST(Observation, OfDraftsIsTheirAcceptanceByPosition) {
  Observation o = of_drafts(3, {0.7, 0.3, 0.2});
  EXPECT_DOUBLE_EQ(o.tokens_per_draft(), 3);
  EXPECT_DOUBLE_EQ(o.mean_acceptance_length(), 2.2);
  EXPECT_EQ(o.acceptance_by_position(), (std::vector<double>{0.7, 0.3, 0.2}));
  EXPECT_NE(observation_table(o).find(
                "speculation           2.20 tokens per step   3.00 drafted, accepted by position "
                "0.700, 0.300, 0.200\n"),
            std::string::npos)
      << observation_table(o);
  // 4,210 tokens of ten answers: 4,200 come of steps, 1,200 of them as accepted ones, so of 3,000 steps.
  o.counters[static_cast<std::size_t>(Counter::output_tokens)] = 4210;
  o.counters[static_cast<std::size_t>(Counter::requests)] = 10;
  EXPECT_DOUBLE_EQ(o.drafting_share(), 1 / 3.0);
  EXPECT_EQ(nlohmann::json::parse(observation_json(o))["speculation"].dump(),
            R"({"acceptance_by_position":[0.7,0.3,0.2],"drafting_share":0.3333333333333333,)"
            R"("mean_acceptance_length":2.2,"tokens_per_draft":3.0})");
}

// Scatter of the counters: a later position is accepted no more often than one before it.
TEST(Observation, OfDraftsIsKnownOnlyIfEveryPositionIs) {
  EXPECT_EQ(of_drafts(3, {0.7, 0.2, 0.21}).acceptance_by_position(), (std::vector<double>{0.7, 0.2, 0.2}));
  const std::vector<double> eight(8, 0.1), nine(9, 0.1);
  EXPECT_EQ(of_drafts(8, eight).acceptance_by_position().size(), 8U);
  EXPECT_TRUE(of_drafts(9, nine).acceptance_by_position().empty());
  EXPECT_TRUE(of_drafts(6, nine).acceptance_by_position().empty()) << "six on average, up to nine";
  EXPECT_TRUE(of_drafts(8, {0.7, 0.3, 0.2}).acceptance_by_position().empty())
      << "three of eight are exported";
  const Observation none = observation_of({.samples = {at(0, 30), at(10, 50)}});
  EXPECT_TRUE(std::isnan(none.tokens_per_draft()));
  EXPECT_TRUE(none.acceptance_by_position().empty());
  EXPECT_EQ(observation_table(none).find("speculation"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(observation_json(none))["speculation"].is_null());
  Snapshot sglang = at(0, 30);
  sglang.gauges[static_cast<std::size_t>(Gauge::mean_acceptance_length)] = 2.5;
  EXPECT_NE(observation_table(observation_of({.samples = {sglang, sglang}}))
                .find("speculation           2.50 tokens per step\n"),
            std::string::npos);
}

// One of many totals runs backwards: no restart, and neither the fall nor the way back is a gain.
TEST(Observation, ATotalThatRunsBackwardsIsToldAndNotSummed) {
  Snapshot back = at(20, 60), later = at(30, 70);
  back.counters[static_cast<std::size_t>(Counter::queried_tokens)] = 4000;
  later.counters[static_cast<std::size_t>(Counter::queried_tokens)] = 4500;
  const Observation o = observation_of({.samples = {at(0, 30), at(10, 50), back, later}});
  EXPECT_EQ(o.restarts, 0);
  EXPECT_EQ(o[Counter::requests], 40);
  EXPECT_EQ(o[Counter::queried_tokens], 2000 + 500);
  ASSERT_EQ(o.notes.size(), 1U);
  EXPECT_EQ(o.notes[0],
            "counters fell without a restart; these intervals are not summed: "
            "vllm:prefix_cache_queries_total from 5,000 to 4,000");
}

// Four counters and a histogram are above 0: three falls of five are a restart, two are not.
TEST(Observation, MostTotalsFallAtARestart) {
  const auto restarts_if_these_fall = [](std::initializer_list<Counter> falling) {
    Snapshot after = at(10, 50);
    for (const Counter one : falling) after.counters[static_cast<std::size_t>(one)] = 1;
    return observation_of({.samples = {at(0, 30), after}}).restarts;
  };
  EXPECT_EQ(restarts_if_these_fall({Counter::requests, Counter::queried_tokens}), 0);
  EXPECT_EQ(restarts_if_these_fall({Counter::requests, Counter::queried_tokens, Counter::hbm_hit_tokens}), 1);
}

// Three counters and any one histogram are above 0: two falls of four are no restart.
TEST(Observation, EveryHistogramSpeaksAgainstARestart) {
  for (std::size_t i = 0; i < std::size(kSpreadNames); ++i) {
    Snapshot before = at(0, 30), after = at(10, 50);
    for (Snapshot* one : {&before, &after}) {
      one->counters[static_cast<std::size_t>(Counter::external_hit_tokens)] = NAN;
      std::swap(one->spreads[i], one->spreads[static_cast<std::size_t>(Spread::ttft_s)]);
    }
    after.counters[static_cast<std::size_t>(Counter::requests)] = 1;
    after.counters[static_cast<std::size_t>(Counter::queried_tokens)] = 1;
    EXPECT_EQ(observation_of({.samples = {before, after}}).restarts, 0) << kSpreadNames[i];
  }
}

TEST(Observation, AHistogramThatRunsBackwardsIsToldAndNotSummed) {
  for (const bool in_sum : {false, true}) {
    Snapshot back = at(10, 50);
    Buckets& ttft = back.spreads[static_cast<std::size_t>(Spread::ttft_s)];
    (in_sum ? ttft.sum : ttft.counts[0]) -= 30;
    const Observation o = observation_of({.samples = {at(0, 30), back, at(20, 60)}});
    EXPECT_EQ(o.restarts, 0);
    EXPECT_EQ(o[Counter::requests], 30);
    // From `back`, whose other buckets are right.
    EXPECT_EQ(o[Spread::ttft_s].count(), 10);
    ASSERT_EQ(o.notes.size(), 1U);
    EXPECT_NE(o.notes[0].find(in_sum ? "vllm:time_to_first_token_seconds_sum from 1.80 to"
                                     : "vllm:time_to_first_token_seconds_bucket from 27.0 to 15.0"),
              std::string::npos)
        << o.notes[0];
  }
}

// All totals fall, but the server says that it is the same one.
TEST(Observation, AServerThatSaysWhenItStartedIsBelieved) {
  Snapshot first = at(0, 30), last = at(10, 5);
  first.started_s = last.started_s = -100;
  const Observation same = observation_of({.samples = {first, last}});
  EXPECT_EQ(same.restarts, 0);
  EXPECT_TRUE(std::isnan(same[Counter::requests]));
  EXPECT_NE(same.notes.at(0).find("vllm:request_success_total from 30.0 to 5"), std::string::npos)
      << same.notes[0];
  EXPECT_NE(same.notes[0].find(" and 2 more"), std::string::npos) << same.notes[0];
  // No total falls, but it is another one.
  last = at(10, 40);
  last.started_s = 3;
  const Observation other = observation_of({.samples = {first, last}});
  EXPECT_EQ(other.restarts, 1);
  EXPECT_EQ(other[Counter::requests], 40);
}

// What was not known in a scrape between is neither lost nor counted from 0.
TEST(Observation, AGapInATotalIsNoRestart) {
  Snapshot gap = at(10, 50);
  gap.counters[static_cast<std::size_t>(Counter::requests)] = NAN;
  gap.spreads[static_cast<std::size_t>(Spread::ttft_s)] = {};
  gap.refused = {{"counters.requests", "vllm:request_success_total is nan"}};
  const Observation o = observation_of({.samples = {at(0, 30), gap, at(20, 70)}});
  EXPECT_EQ(o[Counter::requests], 40);
  EXPECT_EQ(o[Spread::ttft_s].count(), 40);
  ASSERT_EQ(o.notes.size(), 1U);
  EXPECT_EQ(o.notes[0], "impossible values are not summed: vllm:request_success_total is nan");
}

// A total that was refused at first may have been anything; one that was not there was 0.
TEST(Observation, ATotalBeginsWhereItIsKnown) {
  Snapshot first = at(0, 30);
  first.counters[static_cast<std::size_t>(Counter::requests)] = NAN;
  first.spreads[static_cast<std::size_t>(Spread::ttft_s)] = {};
  const Observation absent = observation_of({.samples = {first, at(10, 50), at(20, 70)}});
  EXPECT_EQ(absent[Counter::requests], 70);
  EXPECT_EQ(absent[Spread::ttft_s].count(), 70);
  first.refused = {{"counters.requests", "a"}, {"histograms.ttft_s", "b"}};
  const Observation refused = observation_of({.samples = {first, at(10, 50), at(20, 70)}});
  EXPECT_EQ(refused[Counter::requests], 20);
  EXPECT_EQ(refused[Spread::ttft_s].count(), 20);
}

TEST(Observation, OneScrapeTellsOfTheTimeSinceTheStart) {
  Snapshot one = at(2000, 40);
  one.started_s = 1900;
  const Observation o = observation_of({.samples = {one}});
  EXPECT_EQ(o.duration_s, 100);
  EXPECT_EQ(o.from_unix_s, 1900);
  EXPECT_EQ(o[Counter::requests], 40);
  EXPECT_NE(o.notes.at(0).find("since the server started"), std::string::npos);
  one.started_s.reset();
  EXPECT_TRUE(std::isnan(observation_of({.samples = {one}}).requests_per_s()));
}

TEST(Observation, FailedScrapesAndEnginesAreSaid) {
  Snapshot last = at(10, 60);
  last.engines = 2;
  const Observation o = observation_of({.samples = {at(0, 50), last}, .failures = {{5, "timed out"}}});
  ASSERT_EQ(o.notes.size(), 2U);
  EXPECT_NE(o.notes[0].find("metrics of 2 engines"), std::string::npos);
  EXPECT_EQ(o.notes[1], "1 scrape failed; the last one: timed out");
}

TEST(Observation, WithoutCountersTheHitRateIsTheGauge) {
  Snapshot first = at(0, 0), last = at(10, 5);
  for (Snapshot* one : {&first, &last}) {
    one->counters[static_cast<std::size_t>(Counter::queried_tokens)] = NAN;
    one->gauges[static_cast<std::size_t>(Gauge::hit_rate)] = one == &first ? 0.2 : 0.4;
  }
  EXPECT_DOUBLE_EQ(observation_of({.samples = {first, last}}).token_hit_rate(), 0.3);
}

TEST(BucketQuantile, LiesInItsBucket) {
  const Buckets b{.bounds = {1, 2, 5, INFINITY}, .counts = {10, 50, 90, 100}};
  EXPECT_EQ(quantile_of(b, 0.1).low, 0);
  EXPECT_EQ(quantile_of(b, 0.1).high, 1);
  const QuantileRange half = quantile_of(b, 0.5);  // the 50th of 100 is the last up to 2
  EXPECT_EQ(half.low, 1);
  EXPECT_EQ(half.high, 2);
  EXPECT_EQ(half.value, 2);
  EXPECT_DOUBLE_EQ(quantile_of(b, 0.7).value, 2 + 3 * 0.5);  // 20 of the 40 between 2 and 5
  EXPECT_EQ(quantile_of(b, 0.99).low, 5);
  EXPECT_EQ(quantile_of(b, 0.99).high, INFINITY);
  EXPECT_EQ(quantile_of(b, 0.99).value, 5);
  EXPECT_EQ(quantile_of(b, 0).low, 0);
}

TEST(BucketQuantile, EmptyBucketsHoldNone) {
  const Buckets b{.bounds = {1, 2, 5, INFINITY}, .counts = {0, 0, 10, 10}};
  EXPECT_EQ(quantile_of(b, 0).low, 2);
  EXPECT_EQ(quantile_of(b, 1).high, 5);
}

TEST(BucketQuantile, AMarginWidensItToItsNeighbours) {
  const Buckets b{.bounds = {1, 2, 5, INFINITY}, .counts = {10, 50, 90, 100}};
  EXPECT_EQ(quantile_of(b, 0.5, 0.005).low, 1);
  EXPECT_EQ(quantile_of(b, 0.5, 0.005).high, 5);
  EXPECT_EQ(quantile_of(b, 0.95, 0.1).high, INFINITY);
  EXPECT_EQ(quantile_of(b, 0.95, 0.1).low, 2);
}

TEST(Observation, TheTableFitsItsColumns) {
  const std::string text =
      observation_table(observation_of({.samples = {at(1000, 50, 4), at(1030, 150, 2)}}));
  EXPECT_NE(text.find("token hit rate  %     40.0   GPU 30.0, external 10.0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("p50 55.6 (0..100)"), std::string::npos) << text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 100U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(Observation, TheJsonHasNullsForWhatIsNotKnown) {
  const auto json =
      nlohmann::json::parse(observation_json(observation_of({.samples = {at(1000, 50), at(1030, 150)}})));
  EXPECT_EQ(json["schema"], "kvcap.observation/1");
  EXPECT_EQ(json["counters"]["requests"], 100);
  EXPECT_TRUE(json["counters"]["preemptions"].is_null());
  EXPECT_TRUE(json["histograms"]["itl_s"].is_null());
  EXPECT_EQ(json["histograms"]["ttft_s"]["p90"]["low"], 0);
  EXPECT_EQ(json["histograms"]["ttft_s"]["p99"]["low"], 0.1);
}

// As `at`, and what else engines export.
Snapshot whole(double time_s, double requests) {
  Snapshot one = at(time_s, requests, 4);
  one.models = {"m"};
  one.config = {{"block_size", "16"}};
  one.engines = 2;
  const std::pair<Counter, double> counters[] = {
      {Counter::prompt_tokens, 200 * requests}, {Counter::output_tokens, 20 * requests},
      {Counter::preemptions, requests / 10},    {Counter::loaded_bytes, 2.2e8 * requests},
      {Counter::load_s, requests / 100},        {Counter::saved_bytes, 5e7 * requests}};
  for (const auto& [which, value] : counters) one.counters[static_cast<std::size_t>(which)] = value;
  one.gauges[static_cast<std::size_t>(Gauge::kv_usage)] = 0.5;
  one.gauges[static_cast<std::size_t>(Gauge::waiting)] = 3;
  one.gauges[static_cast<std::size_t>(Gauge::blocks)] = 1000;
  return one;
}

TEST(Observation, TheTableHasEveryFigureWithItsUnit) {
  Observation o = observation_of({.samples = {whole(1000, 50), whole(1030, 150)}});
  o.block_size = 16;
  o.kv_capacity_tokens = 16000;
  o.notes = {"a note"};
  EXPECT_EQ(observation_table(o), R"(vllm   m   30.0 s from 1970-01-01 00:16:40 UTC, 2 scrapes

requests              100   3.33 /s
prompt tokens         20,000   mean of a request 200
output tokens         2,000   mean of a request 20.0
token hit rate  %     40.0   GPU 30.0, external 10.0
offload               22.0 GB loaded at 22.0 GB/s, 5.00 GB saved
KV usage        %     mean 50.0   most 50.0
running               mean 4.00   most 4.00
waiting               mean 3.00   most 3.00
preemptions           10.0
TTFT            ms    mean 60.0   p50 55.6 (0..100)   p90 100 (0..100)   p99 190 (100..200)
ITL             ms    -
end to end      ms    -
queue           ms    -
KV capacity           16,000 tokens   1,000 blocks of 16
Note: a note.
)");
}

TEST(Observation, TheJsonHasEveryFigureUnderItsName) {
  Observation o = observation_of({.samples = {whole(1000, 50), whole(1030, 150)}});
  o.address = "http://a:1";
  o.failed = 3;
  o.block_size = 16;
  o.kv_capacity_tokens = 16000;
  o.notes = {"a note"};
  auto json = nlohmann::json::parse(observation_json(o));
  EXPECT_EQ(
      json["histograms"]["ttft_s"].dump(),
      R"({"count":100.0,"mean":0.06,"p50":{"high":0.1,"low":0.0,"value":0.05555555555555556},"p90":{"high":0.1,"low":0.0,"value":0.1},"p99":{"high":0.2,"low":0.1,"value":0.19}})");
  EXPECT_EQ(json["gauges"]["running"].dump(), R"({"mean":4.0,"most":4.0})");
  for (const char* list : {"counters", "gauges", "histograms"}) json.erase(list);
  EXPECT_EQ(json.dump(1), R"({
 "address": "http://a:1",
 "block_size": 16.0,
 "config": {
  "block_size": "16"
 },
 "duration_s": 30.0,
 "engine": "vllm",
 "engines": 2,
 "failed_scrapes": 3,
 "from_unix_s": 1000.0,
 "hit_rates": {
  "external": 0.1,
  "hbm": 0.3,
  "host": null,
  "storage": null
 },
 "kv_capacity_tokens": 16000.0,
 "mean_output_tokens": 20.0,
 "mean_prompt_tokens": 200.0,
 "models": [
  "m"
 ],
 "notes": [
  "a note"
 ],
 "num_gpu_blocks": 1000.0,
 "requests_per_s": 3.3333333333333335,
 "restarts": 0,
 "schema": "kvcap.observation/1",
 "scrapes": 2,
 "speculation": null,
 "token_hit_rate": 0.4
})");
}

TEST(Observation, SaysHowOftenTotalsWentBackAndWhereFirst) {
  const auto note_of = [](const ObservedLog& log) {
    const Observation o = observation_of(log);
    return o.notes.empty() ? "" : o.notes.front();
  };
  const std::string causes = ": the server restarted, or several servers answer in turn at this address";
  EXPECT_EQ(note_of({.samples = {at(1000, 50), at(1010, 10)}}),
            "counters were reset 1 time (vllm:request_success_total from 50.0 to 10.0)" + causes);
  Snapshot first = at(1000, 50), last = at(1010, 60);
  first.started_s = 900;
  last.started_s = 1005;
  EXPECT_EQ(note_of({.samples = {first, last}}), "counters were reset 1 time" + causes);
}

TEST(ObservedLog, ReadsBackAsItWas) {
  Snapshot first = at(1000, 50, 4), last = at(1010, 70, 6);
  for (Snapshot* one : {&first, &last}) {
    one->models = {"m"};
    one->config = {{"block_size", "16"}};
    one->started_s = 900;
    one->engines = 2;
  }
  last.started_s = 1009;  // it restarted
  last.refused = {{"counters.preemptions", "vllm:num_preemptions_total is -5"}};
  const std::string text = log_header("http://a:1", 5, first) + log_line(first) +
                           log_line(FailedScrape{1005, "no\nanswer"}) + log_line(last);
  EXPECT_TRUE(is_observed_log(text));
  const ObservedLog log = parse_observed_log(text, "log");
  EXPECT_EQ(log.address, "http://a:1");
  EXPECT_EQ(log.every_s, 5);
  ASSERT_EQ(log.samples.size(), 2U);
  EXPECT_EQ(log.samples[1].unix_s, 1010);
  EXPECT_EQ(log.samples[1][Counter::requests], 70);
  EXPECT_TRUE(std::isnan(log.samples[1][Counter::preemptions]));
  EXPECT_EQ(log.samples[1][Gauge::running], 6);
  EXPECT_EQ(log.samples[1][Spread::ttft_s].bounds, last[Spread::ttft_s].bounds);
  EXPECT_EQ(log.samples[1][Spread::ttft_s].counts, last[Spread::ttft_s].counts);
  EXPECT_EQ(log.samples[1].models, last.models);
  EXPECT_EQ(log.samples[1].config, last.config);
  EXPECT_EQ(log.samples[1].engines, 2);
  EXPECT_EQ(log.samples[0].started_s, 900);
  EXPECT_EQ(log.samples[1].started_s, 1009);
  EXPECT_EQ(log.samples[1].refused, last.refused);
  ASSERT_EQ(log.failures.size(), 1U);
  EXPECT_EQ(log.failures[0].reason, "no\nanswer");
}

TEST(ObservedLog, SaysWhichEngineWasObserved) {
  Snapshot one = at(1000, 50);
  one.engine = ObservedEngine::sglang;
  const ObservedLog log = parse_observed_log(log_header("a", 5, one) + log_line(one), "log");
  EXPECT_EQ(log.samples[0].engine, ObservedEngine::sglang);
  EXPECT_EQ(observation_of(log).engine, ObservedEngine::sglang);
}

TEST(Observation, TimesAreThoseOfUtc) {
  EXPECT_EQ(utc_text(0), "1970-01-01 00:00:00 UTC");
  EXPECT_EQ(utc_text(1769850300), "2026-01-31 09:05:00 UTC");
}

TEST(ObservedLog, AHalfWrittenLastLineIsLeftOut) {
  const Snapshot one = at(1000, 50);
  std::string text = log_header("a", 5, one) + log_line(one) + log_line(at(1005, 60));
  text.resize(text.size() - 20);
  const ObservedLog log = parse_observed_log(text, "log");
  EXPECT_EQ(log.samples.size(), 1U);
  EXPECT_EQ(log.notes.at(0), "the last line of log is incomplete and was left out");
}

// Those of older logs do not.
TEST(ObservedLog, LinesSayThemselvesWhenTheServerStarted) {
  Snapshot one = at(1000, 50);
  const std::string lines = log_line(one) + log_line(at(1005, 10));
  one.started_s = 900;
  const ObservedLog log = parse_observed_log(log_header("a", 5, one) + lines, "log");
  EXPECT_EQ(log.samples[0].started_s, 900);
  EXPECT_FALSE(log.samples[1].started_s);
  EXPECT_EQ(observation_of(log).restarts, 1);
}

TEST(ObservedLog, WhatIsWrongIsNamedWithItsLine) {
  const Snapshot one = at(1000, 50);
  const std::string head = log_header("a", 5, one);
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      parse_observed_log(text, "log");
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(head), "log: contains no successful scrape");
  EXPECT_EQ(refusal("{}\n"), "log:1: schema: missing, required: \"kvcap.observed/1\"");
  EXPECT_EQ(refusal(head + "{\"unix_s\": \"x\"}\n"),
            "log:2: unix_s: found \"x\", allowed: a number from 0 to 1000000000000");
  EXPECT_EQ(refusal(head + "{\"unix_s\": 1}\n"), "log:2: counters: missing, required");
  EXPECT_EQ(refusal(head + R"({"unix_s":1,"counters":{"requests":-1},"gauges":{},"histograms":{}})" + "\n"),
            "log:2: counters.requests: found -1, allowed: a number from 0 to 1e+18");
  EXPECT_EQ(
      refusal(head + R"({"unix_s":1,"counters":{},"gauges":{},"histograms":{},"refused":{"a":1}})" + "\n"),
      "log:2: refused.a: found 1, allowed: a string");
  EXPECT_EQ(refusal(head + "[1]\n"), "log:2: found an array, allowed: an object");
  EXPECT_EQ(refusal(head + R"({"unix_s":1,"counters":{},"gauges":{},"histograms":{"ttft_s":)" +
                    R"({"bounds":[1,2],"counts":[1,2],"sum":1}}})" + "\n"),
            "log:2: histograms.ttft_s.counts: found 2, allowed: one more than bounds");
  EXPECT_EQ(refusal(head + R"({"unix_s":1,"counters":{},"gauges":{},"histograms":{"ttft_s":)" +
                    R"({"bounds":[2,1],"counts":[1,2,3],"sum":1}}})" + "\n"),
            "log:2: histograms.ttft_s.bounds: found 1, allowed: ascending numbers");
  EXPECT_EQ(refusal(head + R"({"unix_s":1,"counters":{"request":1},"gauges":{},"histograms":{}})" + "\n"),
            "log:2: counters.request: unknown key; did you mean \"requests\"?");
}

}  // namespace
}  // namespace kvcap::observation_test
