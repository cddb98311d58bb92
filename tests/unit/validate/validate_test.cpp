// Checks and their verdicts, and the promise that every published number has one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/input_error.h"
#include "unit/shared_data.h"
#include "validate/studies/study.h"
#include "validate/suites.h"

namespace kvcap::validate_test {
namespace {

Check check(Claim claim, std::vector<double> simulated, std::vector<double> reference) {
  Check one;
  one.id = "paper.number";
  one.suite = "papers: paper";
  one.claim = claim;
  one.simulated = std::move(simulated);
  one.reference = std::move(reference);
  judge(one);
  return one;
}

TEST(Check, ARangeIsMeasuredFromItsNearerEnd) {
  EXPECT_EQ(check(Claim::range, {1.3, 1.6}, {1.27, 1.6}).verdict, Agreement::inside);
  EXPECT_EQ(check(Claim::range, {1.3, 1.6}, {1.27, 1.6}).error, 0);
  const Check below = check(Claim::range, {1.5, 1.2}, {1.25, 1.6});
  EXPECT_NEAR(below.error, 1 - 1.2 / 1.25, 1e-12);  // 4 %
  EXPECT_EQ(below.verdict, Agreement::near);
  const Check above = check(Claim::range, {2.0}, {1.25, 1.6});
  EXPECT_NEAR(above.error, 0.25, 1e-12);
  EXPECT_EQ(above.verdict, Agreement::outside);
}

TEST(Check, ExactNumbersAreComparedOneByOneAndTheWorstCounts) {
  EXPECT_EQ(check(Claim::exact, {31, 9}, {31, 9}).verdict, Agreement::inside);
  EXPECT_EQ(check(Claim::exact, {0, 9}, {0, 9}).verdict, Agreement::inside);
  const Check worst = check(Claim::exact, {100, 105, 99}, {100, 100, 100});
  EXPECT_NEAR(worst.error, 0.05, 1e-12);
  EXPECT_EQ(worst.verdict, Agreement::near);
}

TEST(Check, NotANumberIsNeverInside) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(check(Claim::exact, {nan}, {1}).verdict, Agreement::outside);
  EXPECT_EQ(check(Claim::range, {1.5, nan, 1.5}, {1, 2}).verdict, Agreement::outside);
}

TEST(Check, AMeanIsInsideWithinItsHalfWidth) {
  Check mean = check(Claim::exact, {1.3}, {1.2});
  EXPECT_EQ(mean.verdict, Agreement::near);
  mean.half_width = {0.11};
  judge(mean);
  EXPECT_EQ(mean.verdict, Agreement::inside);
  EXPECT_NE(validation_table({mean}).find("1.30 +-0.11"), std::string::npos);
  mean.half_width = {0.09};
  judge(mean);
  EXPECT_EQ(mean.verdict, Agreement::near);
}

TEST(Check, AnErrorIsPrintedAsItIsAndHeldAgainstItsLimit) {
  const Check close = check(Claim::at_most, {0.063}, {0.09});
  EXPECT_EQ(close.verdict, Agreement::inside);
  EXPECT_EQ(close.error, 0.063);
  EXPECT_NE(validation_table({close}).find("6.30 %"), std::string::npos);
  EXPECT_EQ(check(Claim::at_most, {0.091}, {0.09}).verdict, Agreement::outside);
  EXPECT_EQ(check(Claim::at_most, {std::numeric_limits<double>::quiet_NaN()}, {0.09}).verdict,
            Agreement::outside);
}

TEST(Check, WhatWasFittedOrGivenIsCountedApart) {
  Check test = check(Claim::exact, {1}, {1}), fitted = check(Claim::exact, {3}, {1}), given = fitted;
  fitted.role = Role::fitted;
  given.role = Role::input;
  const std::string table = validation_table({test, fitted, given});
  EXPECT_NE(table.find("1 inside, 0 near, 0 outside, 0 not comparable; not tests: 1 fitted, 1 given"),
            std::string::npos)
      << table;
}

TEST(Check, APromiseIsBrokenByWhatIsOutsideAndByNothingElse) {
  Check far = check(Claim::exact, {2}, {1}), close = check(Claim::exact, {1.05}, {1});
  EXPECT_EQ(broken_promises({far, close}), "");
  close.promised = true;
  EXPECT_EQ(broken_promises({far, close}), "");
  far.promised = true;
  EXPECT_NE(broken_promises({far, close}), "");
}

TEST(Check, AnOrderHoldsOrNot) {
  Check order;
  order.claim = Claim::order;
  order.simulated = {1, 2};
  order.holds = true;
  judge(order);
  EXPECT_EQ(order.verdict, Agreement::inside);
  order.holds = false;
  judge(order);
  EXPECT_EQ(order.verdict, Agreement::outside);
}

TEST(Suites, DataThatSomebodyHasNamedAndThatIsNotThereIsRefused) {
  const SuiteOptions named = {.data_folder = "/nowhere", .needs_data = true};
  try {
    run_suites({"measured"}, named);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("--data: found no hardware in /nowhere"), std::string::npos);
  }
  EXPECT_FALSE(run_suites({"twin"}, named).empty());  // reads none
}

TEST(Suites, AnUnknownNameIsRefusedWithTheNearest) {
  try {
    run_suites({"paper"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(),
              "--suite: found \"paper\", allowed: " + suite_names() + "; did you mean \"papers\"?");
  }
}

TEST(MeasuredSuite, KeepsWhatReadmePromisesAndSaysWhyOfTheRest) {
  KVCAP_NEEDS_SHARED_DATA("hardware");
  const std::vector<Check> checks = run_suites({"measured"}, {.data_folder = shared_data()});
  EXPECT_GT(checks.size(), 40U);
  EXPECT_EQ(broken_promises(checks), "") << validation_table(checks);
  for (const Check& check : checks) {
    EXPECT_TRUE(check.verdict != Agreement::outside || !check.reason.empty()) << check.id;
  }
}

// Needs no file beside the project: what is measured is in scenarios/studies/vllm_offload.json.
TEST(StacksSuite, LoadsFromDramAreWithinTenPercentAndWhatIsOutsideSaysWhy) {
  const std::vector<Check> checks = run_suites({"stacks"}, {.data_folder = "/nowhere"});
  int loads = 0;
  double before_ms = 0;
  for (const Check& check : checks) {
    EXPECT_TRUE(check.verdict != Agreement::outside || !check.reason.empty()) << check.id;
    if (check.id.find("load_") == std::string::npos || check.simulated.size() != 1) continue;
    ++loads;
    EXPECT_LT(check.error, 0.1) << check.id;
    EXPECT_GT(check.simulated[0], before_ms) << check.id;
    before_ms = check.simulated[0];
  }
  EXPECT_EQ(loads, 10);
}

TEST(MeasuredSuite, ComparesNothingWhoseMeasurementsAreNotThere) {
  const std::vector<Check> checks = run_suites({"measured"}, {.data_folder = "/nowhere"});
  for (const Check& check : checks) {
    // Of these the studies hold all that was measured.
    const std::string set = check.id.substr(0, check.id.find('.'));
    if (set == "llm-d" || set == "tp-pcie" || set == "bench") continue;
    EXPECT_EQ(check.verdict, Agreement::not_comparable) << check.id;
    EXPECT_NE(check.reason.find("/nowhere"), std::string::npos) << check.id;
  }
  EXPECT_NE(validation_table(checks).find("not comparable"), std::string::npos);
  EXPECT_NE(validation_json(checks).find("/nowhere"), std::string::npos);
  EXPECT_NE(validation_markdown(checks, headlines()).find("| measured |"), std::string::npos);
}

TEST(ValidationMarkdown, ShowsAHeadlinesErrorTheBestPublishedAndTheShareOfIntervals) {
  Check error{.id = "a.error", .suite = "measured", .simulated = {1.1}, .reference = {1}, .tolerance = 0.2};
  Check share{.id = "coverage.a", .suite = "uncertainty", .claim = Claim::range, .simulated = {0.75}};
  share.reference = {0.7, 0.9};
  judge(error);
  judge(share);
  const Headline headline{"what", "runs", "a.error", "7 %", "coverage.a"};
  const Headline absent{"what", "runs", "b.error"};
  const std::string text = validation_markdown({error, share}, std::vector{headline, absent});
  EXPECT_NE(text.find("| what (`a.error`) | runs | 10.0 % | 7 % | 75.0 % |\n\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("b.error"), std::string::npos);
}

TEST(NpuPaper, IsMetToTheByte) {
  for (const Check& one : run_studies(shipped_studies("papers: htp"))) {
    EXPECT_EQ(one.verdict, Agreement::inside) << one.id;
    EXPECT_EQ(one.error, 0) << one.id;
  }
}

class HCachePaper : public testing::Test {
 protected:
  static const std::vector<Check>& checks() {
    static const std::vector<Check> all = run_studies(shipped_studies("papers: hcache"));
    return all;
  }
};

TEST_F(HCachePaper, WhatIsNotInsideSaysWhy) {
  for (const Check& one : checks()) {
    EXPECT_TRUE(one.verdict == Agreement::inside || !one.reason.empty()) << one.id;
    for (double number : one.simulated) EXPECT_TRUE(std::isfinite(number)) << one.id;
  }
}

TEST_F(HCachePaper, AtMostThreeParametersAreTuned) {
  std::vector<std::string> tuned;
  for (const Check& one : checks()) {
    tuned.insert(tuned.end(), one.tuned.begin(), one.tuned.end());
  }
  std::sort(tuned.begin(), tuned.end());
  tuned.erase(std::unique(tuned.begin(), tuned.end()), tuned.end());
  EXPECT_LE(tuned.size(), 3U);
}

TEST_F(HCachePaper, TheTableFitsAHundredColumnsAndTheJsonHasEveryCheck) {
  std::istringstream lines(validation_table(checks()));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  const nlohmann::json json = nlohmann::json::parse(validation_json(checks()));
  EXPECT_EQ(json["schema"], "kvcap.validation/1");
  ASSERT_EQ(json["checks"].size(), checks().size());
  for (const char* key : {"id", "suite", "what", "simulated", "reference", "error", "tolerance", "tuned",
                          "verdict", "reason"}) {
    EXPECT_TRUE(json["checks"][0].contains(key)) << key;
  }
  EXPECT_EQ(json["checks"][0]["verdict"],
            std::string(kAgreementNames[static_cast<int>(checks()[0].verdict)]));
}

TEST(CacheBlendPaper, HasItsMainRatiosInsideAndReasonsForTheRest) {
  const std::vector<Check> checks = run_studies(shipped_studies("papers: blend"));
  for (const Check& one : checks) {
    EXPECT_TRUE(one.verdict == Agreement::inside || !one.reason.empty()) << one.id;
    for (double number : one.simulated) EXPECT_TRUE(std::isfinite(number)) << one.id;
    for (const char* main : {"blend.f12.ttft_vs_recompute", "blend.f14.throughput",
                             "blend.7.prefix_throughput", "blend.f17.order"}) {
      EXPECT_TRUE(one.id != main || one.verdict == Agreement::inside) << one.id;
    }
  }
}

}  // namespace
}  // namespace kvcap::validate_test
