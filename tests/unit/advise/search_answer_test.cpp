// Tests the answer of kvcap plan: ties of equal cost, rejected values, the front, and the numbers of verified
// and skipped configurations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "advise/search.h"
#include "plan/workers.h"
#include "unit/advise/formula.h"

namespace kvcap::search_answer_test {
namespace {

using namespace plan_formulas;

TEST(RunCommand, NamesTheMachineOnceAndOtherChangesBySet) {
  Plan plan;
  plan.base.path = "the command line";
  plan.base.text = "{}";
  plan.base.command = "--model m --workload chat";
  EXPECT_EQ(run_command(plan, {"hardware=l40s-8x", "hardware.ssd.count=2", "seed=2"}),
            "kvcap run --model m --workload chat --gpu l40s-8x --set hardware.ssd.count=2 --set seed=2");
  plan.base = BaseScenario("a.json");
  EXPECT_EQ(run_command(plan, {"hardware=l40s-8x"}), "kvcap run a.json --set hardware=l40s-8x");
}

// Twenty kinds cost 5 dollars with up to 64 GB, and the eighth, or the first, is the fastest: 101 + 64 / 64
// ms. What cannot be cheaper is not searched; the fastest few of the twenty are judged at 64 GB, after the
// answer of 1 GB.
TEST(PlanSearch, OfEquallyDearOnesTheAnswerIsTheFastest) {
  std::vector<double> kinds;
  for (int i = 1; i <= 20; ++i) kinds.push_back(i);
  for (const double fastest : {8, 1}) {
    const auto formula = [&](const Values& v) -> Served {
      return {.usd_per_hour = 5 + 0.1 * std::max(0.0, v.at("dram") - 64),
              .p99_ttft_ms = 101 + 10 * std::abs(v.at("a") - fastest) + 64 / v.at("dram")};
    };
    const Plan plan = plan_of({list("a", kinds), range("dram", 100)}, 1000);
    Formula evaluator(formula);
    Judge judge(plan, evaluator);
    const PlanResult result = find_plan(plan, judge);
    ASSERT_NE(result.best, nullptr);
    EXPECT_EQ(result.best->metric("cost.usd_per_hour").mean, 5);
    EXPECT_DOUBLE_EQ(result.best->metric("p99_ttft_ms").mean, 102) << fastest;
    // The first eight kinds with three seeds each, their lines by bisection, and three ties.
    EXPECT_LE(evaluator.full_runs, 3 * (8 + 8 * 2 + 3) + 30);
  }
}

// Of nine kinds the first wave leaves one, and it is the fastest.
TEST(PlanSearch, OfTwoEquallyDearOnesTheAnswerIsTheFastest) {
  const auto formula = [](const Values& v) -> Served {
    return {.usd_per_hour = 5, .p99_ttft_ms = 110 - v.at("a")};
  };
  const Plan plan = plan_of({list("a", {1, 2, 3, 4, 5, 6, 7, 8, 9})}, 1000);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  EXPECT_EQ(values_of(result.best->changes).at("a"), 9);
}

// Short workloads take the later of twenty equally dear kinds for the faster ones, the whole the first. Of
// the twelve that the first wave leaves, the three that seem fastest are judged, and they are not faster:
// that is all.
TEST(PlanSearch, OfEquallyDearOnesTriesThreeOnce) {
  class Misleading : public Evaluator {
   public:
    std::vector<Answer> run(const std::vector<Ask>& asks) override {
      std::vector<Answer> answers;
      for (const Ask& ask : asks) {
        const double kind = values_of(ask.changes).at("a");
        answers.emplace_back().result.metrics = {{"cost.usd_per_hour", 5.0},
                                                 {"p99_ttft_ms", ask.share < 1 ? 120 - kind : 100 + kind},
                                                 {"stable", true}};
      }
      return answers;
    }
  };
  std::vector<double> kinds;
  for (int i = 1; i <= 20; ++i) kinds.push_back(i);
  const Plan plan = plan_of({list("a", kinds)}, 1000);
  Misleading evaluator;
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  EXPECT_EQ(values_of(result.best->changes).at("a"), 1);
  std::set<double> judged;
  for (const Candidate* one : result.judged) judged.insert(values_of(one->changes).at("a"));
  EXPECT_EQ(judged, (std::set<double>{1, 2, 3, 4, 5, 6, 7, 8, 18, 19, 20}));
}

// 1000 / GB <= 100 ms from 10 GB on; the bisection from 1,000 GB downwards does not get that far.
TEST(PlanSearch, SaysAfterCtrlCWhatItHadJudged) {
  class Stopped : public Formula {
   public:
    using Formula::Formula;
    std::vector<Answer> run(const std::vector<Ask>& asks) override {
      std::vector<Answer> answers = Formula::run(asks);
      if (full_runs > most) throw Interrupted();
      return answers;
    }
    int most = 12;
  };
  const auto formula = [](const Values& v) -> Served {
    return {.usd_per_hour = v.at("dram"), .p99_ttft_ms = 1000 / v.at("dram")};
  };
  const Plan plan = plan_of({range("dram", 1000)}, 100);
  Stopped evaluator(formula);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  EXPECT_TRUE(result.is_interrupted);
  ASSERT_NE(result.best, nullptr);
  EXPECT_GT(result.best->metric("cost.usd_per_hour").mean, 10);  // the answer of the whole search
  EXPECT_FALSE(result.judged.empty());
  Stopped at_once(formula);
  at_once.most = 0;
  Judge none(plan, at_once);
  EXPECT_THROW(find_plan(plan, none), Interrupted);
}

TEST(PlanSearch, SaysThatADecisionIsNotClear) {
  const auto formula = [](const Values& v) -> Served {
    return {.usd_per_hour = v.at("a"), .p99_ttft_ms = v.at("a") == 1 ? 1000.0 : 100.0};
  };
  const Plan plan = plan_of({list("a", {1, 2})}, 1000);
  Formula evaluator(formula, 0.1);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  EXPECT_EQ(result.best->metric("cost.usd_per_hour").mean, 2);
  ASSERT_EQ(result.rivals.size(), 1U);
  EXPECT_EQ(result.rivals[0]->verdict, Judgement::unclear);
  EXPECT_EQ(static_cast<int64_t>(result.rivals[0]->runs.size()), plan.max_replications);
}

TEST(PlanSearch, NamesTheNearestWhereNothingMeetsTheTargets) {
  const auto formula = [](const Values& v) -> Served {
    if (v.at("a") == 3) return {.reason = "does not fit"};
    return {.usd_per_hour = 1, .p99_ttft_ms = 1000 * v.at("a"), .stable = v.at("a") > 1};
  };
  const Plan plan = plan_of({list("a", {1, 2, 3, 4})}, 500);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  EXPECT_EQ(result.best, nullptr);
  EXPECT_EQ(result.cannot_run, 1);
  EXPECT_EQ(result.cannot_run_reason, "does not fit");
  ASSERT_NE(result.nearest, nullptr);
  EXPECT_EQ(values_of(result.nearest->changes).at("a"), 2);
}

// Cost 1 2 3 4: the first misses, the second is bought, the third costs more, the fourth does not fit.
TEST(PlanSearch, SaysOfEveryValueThatIsLeftOutWhy) {
  const auto formula = [](const Values& v) -> Served {
    if (v.at("a") == 4) return {.reason = "does not fit"};
    return {.usd_per_hour = v.at("a"), .p99_ttft_ms = v.at("a") == 1 ? 700.0 : 100.0};
  };
  const Plan plan = plan_of({list("a", {1, 2, 3, 4})}, 500);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  const std::vector<Discarded> out = find_plan(plan, judge).discarded;
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[0].value, "a=1.000000");
  EXPECT_EQ(out[0].why, Discarded::Why::misses);
  EXPECT_EQ(out[0].reason, "p99_ttft_ms");
  EXPECT_EQ(out[0].found, 700);
  EXPECT_EQ(out[1].value, "a=3.000000");
  EXPECT_EQ(out[1].why, Discarded::Why::dearer);
  EXPECT_EQ(out[1].objective, 3);
  EXPECT_EQ(out[2].why, Discarded::Why::cannot_run);
  EXPECT_EQ(out[2].reason, "does not fit");
}

// Saturated on the short workload, which is no failure to run.
TEST(PlanSearch, SaysOfWhatIsSaturatedThatItIs) {
  const auto formula = [](const Values& v) -> Served {
    return {.usd_per_hour = v.at("a"), .p99_ttft_ms = 100, .stable = v.at("a") > 1};
  };
  const Plan plan = plan_of({list("a", {1, 2, 3, 4, 5, 6, 7, 8})}, 1000);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_FALSE(result.discarded.empty());
  EXPECT_EQ(result.discarded.front().value, "a=1.000000");
  EXPECT_EQ(result.discarded.front().reason, "unstable");
}

// Cost 1 2 3 4 at 400 300 350 100 ms: the third is dearer and slower than the second.
TEST(PlanSearch, KeepsOnTheFrontWhatNothingBeats) {
  const std::vector<double> ttft_ms = {400, 300, 350, 100};
  const auto formula = [&](const Values& v) -> Served {
    return {.usd_per_hour = v.at("a"), .p99_ttft_ms = ttft_ms[static_cast<std::size_t>(v.at("a")) - 1]};
  };
  const Plan plan = plan_of({list("a", {1, 2, 3, 4})}, 320);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  std::vector<double> costs;
  for (const Candidate* one : result.front) costs.push_back(one->metric("cost.usd_per_hour").mean);
  EXPECT_EQ(costs, (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(result.best->metric("cost.usd_per_hour").mean, 2);
}

// The second of two kinds meets the target at a cost of 20. Of the first, 9 sizes at a cost of 1 to 9, the
// largest misses and rules out the others. Only the fifth of them meets: 400 500 600 700 300 700 600 500 600.
TEST(PlanSearch, CountsWhatItVerifies) {
  const std::vector<double> ttft_ms = {400, 500, 600, 700, 300, 700, 600, 500, 600};
  const auto formula = [&](const Values& v) -> Served {
    if (v.at("a") == 2) return {.usd_per_hour = 20, .p99_ttft_ms = 100};
    return {.usd_per_hour = v.at("dram"), .p99_ttft_ms = ttft_ms[static_cast<std::size_t>(v.at("dram")) - 1]};
  };
  const Plan plan = plan_of({list("a", {1, 2}), range("dram", 9)}, 350);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  EXPECT_EQ(result.best->metric("cost.usd_per_hour").mean, 5);
  EXPECT_EQ(result.implied.wrong, 1);
  EXPECT_EQ(result.implied.same, 0);
  EXPECT_EQ(result.implied.not_looked_at, 0);
}

// Nine sizes with the same figures: the smallest is run, the seven between are not. Nine sizes that miss by
// more than the bound at both ends: the largest is judged, the smallest is run, nothing between them.
TEST(PlanSearch, LooksAtNothingBetweenTwoThatAreTheSameOrMissByFar) {
  for (double slope : {0.0, 1.0}) {
    const auto formula = [&](const Values& v) -> Served {
      return {.usd_per_hour = v.at("dram"), .p99_ttft_ms = 190 + 100 * slope * (10 + v.at("dram"))};
    };
    const Plan plan = plan_of({range("dram", 9)}, 100);
    Formula evaluator(formula);
    Judge judge(plan, evaluator);
    const PlanResult result = find_plan(plan, judge);
    EXPECT_EQ(result.best, nullptr);
    EXPECT_EQ(result.implied.same, slope == 0 ? 7 : 0);
    EXPECT_EQ(result.implied.not_looked_at, slope == 0 ? 0 : 7);
    EXPECT_EQ(result.implied.wrong, 0);
  }
}

// 1,500 values that miss by a little, each with other figures: 1,000 are run.
TEST(PlanSearch, SaysHowManyConfigurationsItDidNotLookAt) {
  const auto formula = [](const Values& v) -> Served {
    return {.usd_per_hour = v.at("dram"), .p99_ttft_ms = 165 - 0.01 * v.at("dram")};
  };
  const Plan plan = plan_of({range("dram", 1500)}, 100);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  EXPECT_EQ(result.best, nullptr);
  EXPECT_EQ(result.implied.verified, 400);
  EXPECT_EQ(result.implied.not_looked_at, 1500 - 400 - 1);  // the largest has been judged
}

}  // namespace
}  // namespace kvcap::search_answer_test
