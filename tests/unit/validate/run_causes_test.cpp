// Each row of the table of causes: the evidence under which it is named, and that a small difference is none.
#include "validate/runs/run_causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "validate/runs/run_comparison.h"

namespace kvcap::run_causes_test {
namespace {

LatencyEvidence latency(double mean_ms, double p50, double p90, double p99) {
  LatencyEvidence one;
  one.is_measured = true;
  one.mean_ms = {mean_ms, mean_ms};
  one.simulated_ms = {p50, p90, p99};
  for (std::size_t i = 0; i < one.simulated_ms.size(); ++i) {
    const double value = one.simulated_ms[i];
    one.measured_ms[i] = {0.95 * value, 1.05 * value, value};
  }
  return one;
}

// A server that does what is simulated.
RunEvidence agreement() {
  RunEvidence e;
  e.requests = {1000, 1000};
  e.arrivals_per_s = {5, 5};
  e.prompt_tokens = {2000, 2000};
  e.output_tokens = {300, 300};
  e.token_hit_rate = {0.5, 0.5};
  e.gpu_hit_rate = {0.5, 0.5};
  e.lower_hit_rate = {0, 0};
  e.kv_capacity_tokens = {100000, 100000};
  e.kv_usage = {0.5, 0.5};
  e.running = {10, 10};
  e.waiting = {0, 0};
  e.preemptions_per_request = {0, 0};
  e.measured_prefix_caching = true;
  e.ttft = latency(100, 80, 200, 400);
  e.itl = latency(10, 9, 12, 40);
  return e;
}

// What is measured becomes factor times as much and shift_ms more.
void change(LatencyEvidence& one, double factor, double shift_ms) {
  one.mean_ms.measured = one.mean_ms.simulated * factor + shift_ms;
  for (QuantileRange& range : one.measured_ms) {
    range.low = range.low * factor + shift_ms;
    range.high = range.high * factor + shift_ms;
    range.value = range.value * factor + shift_ms;
  }
}

struct Case {
  const char* id;
  FigureGroup group;  // that is explained
  std::function<void(RunEvidence&)> change;
  const char* says;  // is part of the text
};

void slower_ttft(RunEvidence& e) { change(e.ttft, 1.5, 0); }

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"rate", FigureGroup::ttft,
       [](RunEvidence& e) {
         slower_ttft(e);
         e.arrivals_per_s.measured = 6;
       },
       "6.00 arrivals/s measured, 5.00 arrivals/s simulated"},
      {"prompt_length", FigureGroup::ttft,
       [](RunEvidence& e) {
         slower_ttft(e);
         e.prompt_tokens.measured = 3000;
       },
       "3,000 tokens measured, 2,000 tokens simulated"},
      {"answer_length", FigureGroup::itl,
       [](RunEvidence& e) {
         change(e.itl, 1.5, 0);
         e.output_tokens.measured = 600;
       },
       "600 tokens measured, 300 tokens simulated"},
      {"prefix_caching", FigureGroup::hit_rate,
       [](RunEvidence& e) {
         e.token_hit_rate.measured = 0;
         e.measured_prefix_caching = false;
       },
       "prefix caching off, the simulation with it on"},
      {"tier_off", FigureGroup::hit_rate,
       [](RunEvidence& e) {
         e.token_hit_rate = {0.8, 0.5};
         e.lower_hit_rate = {0.3, 0};
       },
       "no hits below GPU memory, but 30.0 % of the simulated tokens"},
      {"tier_missing", FigureGroup::hit_rate,
       [](RunEvidence& e) {
         e.token_hit_rate = {0.5, 0.8};
         e.lower_hit_rate = {0, 0.3};
       },
       "has hits on 30.0 % of the tokens below GPU memory"},
      {"kv_capacity", FigureGroup::hit_rate,
       [](RunEvidence& e) {
         e.token_hit_rate.measured = 0.3;
         e.kv_capacity_tokens.measured = 50000;
       },
       "--set serving.kv_capacity_tokens=50000"},
      {"short_capacity", FigureGroup::hit_rate,
       [](RunEvidence& e) {
         e.token_hit_rate.measured = 0.3;
         e.preemptions_per_request.measured = 0.1;
       },
       "preempts requests (0.100 per request measured, 0 per request simulated)"},
      {"less_shared", FigureGroup::hit_rate, [](RunEvidence& e) { e.token_hit_rate.measured = 0.3; },
       "finds fewer tokens"},
      {"more_shared", FigureGroup::hit_rate, [](RunEvidence& e) { e.token_hit_rate.measured = 0.7; },
       "finds more tokens"},
      {"hit_rate", FigureGroup::ttft,
       [](RunEvidence& e) {
         slower_ttft(e);
         e.token_hit_rate.measured = 0.3;
       },
       "computes more of each prompt"},
      {"queue", FigureGroup::ttft,
       [](RunEvidence& e) {
         slower_ttft(e);
         e.waiting.measured = 4;
       },
       "Requests queue at the server but hardly in the simulation"},
      {"batch", FigureGroup::itl,
       [](RunEvidence& e) {
         change(e.itl, 1.3, 0);
         e.running.measured = 5;
       },
       "5.00 running measured, 10.0 running simulated"},
      {"step_overhead", FigureGroup::itl, [](RunEvidence& e) { change(e.itl, 1, 4); },
       "4.00 ms longer than simulated"},
      {"decode_kernels", FigureGroup::itl, [](RunEvidence& e) { change(e.itl, 1.5, 0); },
       "1.50 times as long as simulated"},
      {"steps", FigureGroup::ttft,
       [](RunEvidence& e) {
         slower_ttft(e);
         change(e.itl, 1, 4);
       },
       "steps that take longer"},
      {"request_overhead", FigureGroup::ttft, [](RunEvidence& e) { change(e.ttft, 1, 50); },
       "50.0 ms later than simulated"},
      {"prefill_kernels", FigureGroup::ttft, slower_ttft, "1.50 times as long as simulated"},
      {"long_gaps", FigureGroup::itl,
       [](RunEvidence& e) {
         e.itl.measured_ms[2] = {100, 150, 120};
         e.preemptions_per_request = {0.2, 0.6};
       },
       "The mean gap between tokens agrees, the spread does not"},
      {"spread", FigureGroup::ttft,
       [](RunEvidence& e) {
         e.ttft.measured_ms[2] = {100, 150, 120};
       },
       "The mean TTFT agrees, the spread does not"},
      {"unknown", FigureGroup::ttft,
       [](RunEvidence& e) {
         slower_ttft(e);
         e.ttft.measured_ms[0] = {10, 20, 15};
       },
       "Nothing in the log explains it (mean 150 ms measured, 100 ms simulated)"}};
  return list;
}

TEST(RunCauses, AgreementHasNone) {
  const RunEvidence e = agreement();
  for (const Check& one : run_checks(e)) EXPECT_EQ(one.verdict, Agreement::inside) << one.id;
  EXPECT_TRUE(likely_causes(e, outside_of(run_checks(e))).empty());
}

TEST(RunCauses, EachRowIsNamedByItsEvidence) {
  for (const Case& one : cases()) {
    RunEvidence e = agreement();
    one.change(e);
    const std::vector<Cause> causes = likely_causes(e, outside_of(run_checks(e)));
    bool is_named = false;
    for (const Cause& cause : causes) {
      const bool explains =
          std::find(cause.groups.begin(), cause.groups.end(), one.group) != cause.groups.end();
      if (!explains) continue;
      is_named = true;
      EXPECT_EQ(cause.id, one.id) << cause.text;
      EXPECT_NE(cause.text.find(one.says), std::string::npos) << one.id << ": " << cause.text;
    }
    EXPECT_TRUE(is_named) << one.id;
  }
}

TEST(RunCauses, EachRowHasATest) {
  std::set<std::string> tested;
  for (const Case& one : cases()) tested.insert(one.id);
  for (const std::string_view id : cause_ids()) EXPECT_TRUE(tested.contains(std::string(id))) << id;
}

// Where one cause explains several figures it is said once.
TEST(RunCauses, ACauseOfSeveralFiguresIsOne) {
  RunEvidence e = agreement();
  e.token_hit_rate.measured = 0.3;
  slower_ttft(e);
  e.kv_capacity_tokens.measured = 50000;
  const std::vector<Cause> causes = likely_causes(e, outside_of(run_checks(e)));
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].groups, (std::vector<FigureGroup>{FigureGroup::hit_rate, FigureGroup::ttft}));
}

// With asynchronous scheduling the host's time is all of a step or hidden behind the GPU's; without, it adds.
TEST(RunCauses, TheHostTimeToTryDependsOnScheduling) {
  RunEvidence e = agreement();
  change(e.itl, 1, 4);
  const auto text = [&] { return likely_causes(e, {.itl = true}).at(0).text; };
  EXPECT_NE(text().find("serving.step_overhead_s=0.0140."), std::string::npos) << text();
  e.async_scheduling = false;
  e.step_overhead_s = 0.001;
  EXPECT_NE(text().find("serving.step_overhead_s=0.00500."), std::string::npos) << text();
  // The GPU's step hides behind 9 ms of the host: whatever the shape of what is measured, these are too many.
  e = agreement();
  e.step_overhead_s = 0.009;
  e.itl.mean_ms.measured = 5;
  e.itl.measured_ms = {QuantileRange{0, 10, 5}, QuantileRange{0, 10, 5}, QuantileRange{10, 25, 20}};
  EXPECT_NE(text().find("9.00 ms, is the whole gap between tokens"), std::string::npos) << text();
  EXPECT_NE(text().find("serving.step_overhead_s=0.00500."), std::string::npos) << text();
  e = agreement();
  change(e.itl, 1, -3);
  EXPECT_NE(text().find("kernels of the hardware profile are too slow"), std::string::npos) << text();
}

TEST(RunChecks, AHitRateIsInsideWithinFivePoints) {
  RunEvidence e = agreement();
  e.token_hit_rate.measured = 0.549;
  EXPECT_EQ(run_checks(e)[0].verdict, Agreement::inside);
  e.token_hit_rate.measured = 0.551;
  EXPECT_EQ(run_checks(e)[0].verdict, Agreement::outside);
}

TEST(RunChecks, AMeanIsInsideWithin15PercentOrWhatChanceLeaves) {
  RunEvidence e = agreement();
  e.ttft.mean_ms.measured = 86;  // the simulated mean is 16 % more
  EXPECT_EQ(run_checks(e)[1].verdict, Agreement::outside);
  e.ttft.mean_ms.measured = 88;  // 14 %
  EXPECT_EQ(run_checks(e)[1].verdict, Agreement::inside);
  // 1.96 x 300 ms x sqrt(2 / 1000) = 26 ms.
  e.ttft.simulated_std_ms = 300;
  e.ttft.mean_ms.measured = 75;
  EXPECT_EQ(run_checks(e)[1].verdict, Agreement::inside);
  e.ttft.mean_ms.measured = 73;
  EXPECT_EQ(run_checks(e)[1].verdict, Agreement::outside);
}

TEST(RunChecks, AQuantileIsInsideWithin15PercentOfItsBucket) {
  RunEvidence e = agreement();
  e.ttft.measured_ms[0] = {40, 60, 50};
  const auto verdict = [&](double simulated_ms) {
    e.ttft.simulated_ms[0] = simulated_ms;
    return run_checks(e)[2].verdict;
  };
  EXPECT_EQ(verdict(34.1), Agreement::inside);  // 40 x 0.85 = 34
  EXPECT_EQ(verdict(33.9), Agreement::outside);
  EXPECT_EQ(verdict(68.9), Agreement::inside);  // 60 x 1.15 = 69
  EXPECT_EQ(verdict(69.1), Agreement::outside);
}

TEST(RunChecks, WhatTheLogDoesNotSayIsNotCompared) {
  RunEvidence e = agreement();
  e.token_hit_rate.measured = NAN;
  e.itl = {};
  const std::vector<Check> checks = run_checks(e);
  EXPECT_EQ(checks[0].verdict, Agreement::not_comparable);
  EXPECT_EQ(checks[1].verdict, Agreement::inside);
  EXPECT_EQ(checks.back().verdict, Agreement::not_comparable);
  EXPECT_EQ(checks.back().reason, "the log has no histogram of this latency");
}

TEST(RunChecks, AGivenHitRateIsNoTest) {
  RunEvidence e = agreement();
  e.hits_are_given = true;
  e.token_hit_rate.measured = 0.9;
  const Check check = run_checks(e)[0];
  EXPECT_EQ(check.verdict, Agreement::not_comparable);
  EXPECT_EQ(check.role, Role::input);
}

}  // namespace
}  // namespace kvcap::run_causes_test
