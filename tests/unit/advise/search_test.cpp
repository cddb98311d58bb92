// Tests the search of kvcap plan on formulas: it finds what exhaustive search finds, with few runs.
#include "advise/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "advise/screen.h"
#include "base/random.h"
#include "unit/advise/decided.h"
#include "unit/advise/formula.h"

namespace kvcap::plan_search_test {
namespace {

using namespace plan_formulas;

// Sums of the same prices in another order differ in their last bits.
TEST(PairedDifference, IsNothingWithinRounding) {
  const auto candidate = [](std::vector<double> values) {
    Candidate one;
    for (double value : values) one.runs.emplace_back().metrics = {{"cost.usd_per_hour", value}};
    return one;
  };
  const auto cost = [](const RunResult& run) { return run.number("cost.usd_per_hour"); };
  const Candidate sums = candidate({0.1 + 0.2, 1.1 + 2.2}), same = candidate({0.3, 3.3}),
                  dearer = candidate({0.4, 3.4});
  const MeanInterval none = paired_difference(sums, same, cost), some = paired_difference(dearer, same, cost);
  EXPECT_EQ(none.mean, 0);
  EXPECT_EQ(none.half_width, 0);
  EXPECT_NEAR(some.mean, 0.1, 1e-12);
}

// The least cost of all points that meet the target; infinite where none does.
double exhaustive(const Plan& plan, const std::function<Served(const Values&)>& formula) {
  double least = std::numeric_limits<double>::infinity();
  Point point(plan.search.size(), 0);
  for (bool more = true; more;) {
    const Served machine = formula(values_of(changes_at(plan.search, point)));
    if (machine.reason.empty() && machine.stable && machine.p99_ttft_ms <= plan.meet[0].max) {
      least = std::min(least, machine.usd_per_hour);
    }
    more = false;
    for (std::size_t d = 0; d < point.size() && !more; ++d) {
      more = ++point[d] < plan.search[d].values.size();
      if (!more) point[d] = 0;
    }
  }
  return least;
}

TEST(PlanSearch, FindsWhatExhaustiveSearchFinds) {
  int with_answer = 0;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    const RandomStream random(seed, "plan");
    uint64_t draws = 0;
    const auto uniform = [&] { return random.uniform(draws++); };
    std::map<std::pair<double, double>, std::pair<double, double>> kinds;  // price and work of a kind
    for (double a : {1, 2, 3, 4, 5}) {
      for (double b : {1, 2, 3}) kinds[{a, b}] = {1 + 9 * uniform(), 100 + 2000 * uniform()};
    }
    const double gpu_price = uniform(), dram_price = uniform();
    const auto formula = [&](const Values& v) -> Served {
      const auto [price, work] = kinds.at({v.at("a"), v.at("b")});
      if (work > 1950) return {.reason = "does not fit"};
      return {.usd_per_hour = price + gpu_price * v.at("gpus") + dram_price * v.at("dram"),
              .p99_ttft_ms = work / v.at("gpus") + work / std::sqrt(v.at("dram")),
              .stable = work / v.at("gpus") < 1500};
    };
    const Plan plan =
        plan_of({list("a", {1, 2, 3, 4, 5}), list("b", {1, 2, 3}), range("gpus", 6), range("dram", 40)},
                100 + 600 * uniform());
    Formula evaluator(formula, 0, seed % 2 == 0 ? 0.2 : -0.2);
    Judge judge(plan, evaluator);
    const PlanResult result = find_plan(plan, judge);
    const double least = exhaustive(plan, formula);
    ASSERT_EQ(result.best != nullptr, std::isfinite(least)) << seed;
    if (!result.best) continue;
    ++with_answer;
    EXPECT_NEAR(result.best->metric("cost.usd_per_hour").mean, least, 1e-9) << seed;
    EXPECT_TRUE(result.is_clear());
    EXPECT_EQ(result.best->changes, changes_at(plan.search, result.best_point));
    // 15 x 6 x 40 points, three runs each, would be 10,800.
    EXPECT_LT(evaluator.full_runs, 3000) << seed;
  }
  EXPECT_GT(with_answer, 12);
}

// Eight kinds miss the target by 0, 1, ... 7 times the bound: the worse half of 8 goes, then the worse of 4.
TEST(PlanSearch, DropsTheWorseHalfOfWhatMissesWidelyInEachRound) {
  const Plan plan = plan_of({list("a", {8, 3, 6, 1, 5, 2, 7, 4})}, 100);
  Formula evaluator([](const Values& v) -> Served { return {.p99_ttft_ms = 100 * v.at("a")}; });
  Judge judge(plan, evaluator);
  const Screening screening = screen(plan, judge);
  EXPECT_EQ(screening.dropped, 6);
  ASSERT_EQ(screening.left.size(), 2U);
  EXPECT_EQ(plan.search[0].numbers[screening.left[0].top[0]], 1);
  EXPECT_EQ(plan.search[0].numbers[screening.left[1].top[0]], 2);
}

// 0.4 times the bound beyond the best is not widely.
TEST(PlanSearch, DropsNothingThatMissesLittleMoreThanTheBest) {
  const Plan plan = plan_of({list("a", {1.0, 1.1, 1.2, 1.3, 1.4})}, 100);
  Formula evaluator([](const Values& v) -> Served { return {.p99_ttft_ms = 100 * v.at("a")}; });
  Judge judge(plan, evaluator);
  const Screening screening = screen(plan, judge);
  EXPECT_EQ(screening.dropped, 0);
  EXPECT_EQ(screening.left.size(), 5U);
}

// 1,000 values: the ends, and log2(1,000) = 10 between them; three runs each.
TEST(PlanSearch, BisectsARange) {
  const auto formula = [](const Values& v) -> Served {
    return {.usd_per_hour = v.at("dram"), .p99_ttft_ms = 1e5 / v.at("dram")};
  };
  const Plan plan = plan_of({range("dram", 1000)}, 250);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  EXPECT_EQ(result.best->metric("cost.usd_per_hour").mean, 400);  // 1e5 / 250
  EXPECT_LE(result.judged.size(), 12U);
  // Each of the others that miss by no more than the bound, 200 to 399, is verified with one run; the answer
  // has three runs more.
  EXPECT_EQ(result.implied.wrong, 0);
  EXPECT_GE(result.implied.verified, 200 - 12);
  EXPECT_LE(evaluator.full_runs, 3 * 12 + 3 + 200 + 2 * 12);
}

// Noise of 5, -10, 15, -5, 10, -15 % and so on: the mean of 6 or 12 runs is exact and their deviation about
// 11 %, or 100 ms of 900. Four looks at 98.75 % each: after 12 runs half an interval is 2.99 x 104 / sqrt(12)
// = 90.
TEST(PlanSearch, RunsMoreSeedsWhereATargetIsNear) {
  const auto formula = [](const Values& v) -> Served {
    return {.usd_per_hour = v.at("a"), .p99_ttft_ms = v.at("a") == 1 ? 900.0 : 100.0};
  };
  const Plan plan = plan_of({list("a", {1, 2})}, 1000);
  Formula evaluator(formula, 0.05);
  Judge judge(plan, evaluator);
  EXPECT_DOUBLE_EQ(judge.confidence(), 0.9875);
  const auto candidates = decided(judge, {changes_at(plan.search, {0}), changes_at(plan.search, {1})});
  EXPECT_EQ(candidates[0]->runs.size(), 12U);
  EXPECT_EQ(candidates[0]->verdict, Judgement::meets);
  EXPECT_EQ(candidates[1]->runs.size(), 3U);
  // What is printed is what the verdict rests on.
  std::vector<double> values;
  for (const RunResult& run : candidates[0]->runs) values.push_back(run.number("p99_ttft_ms"));
  EXPECT_EQ(candidates[0]->metric("p99_ttft_ms").half_width, mean_interval(values, 0.9875).half_width);
}

// 1,000 configurations whose true value is the target itself: whatever is said of them but `unclear` is
// wrong, and 5 % may be.
TEST(PlanSearch, ManyLooksTogetherErrInOneCaseOf20AtMost) {
  class Noise : public Evaluator {
   public:
    std::vector<Answer> run(const std::vector<Ask>& asks) override {
      std::vector<Answer> answers;
      for (const Ask& ask : asks) {
        const RandomStream random(static_cast<uint64_t>(ask.replication), ask.changes.at(0));
        answers.emplace_back().result.metrics = {
            {"p99_ttft_ms", 1000 + 100 * random.normal(0)}, {"cost.usd_per_hour", 1.0}, {"stable", true}};
      }
      return answers;
    }
  };
  const Plan plan = plan_of({list("a", {1, 2})}, 1000);
  Noise noise;
  Judge judge(plan, noise);
  std::vector<Changes> wanted;
  for (int i = 0; i < 1000; ++i) wanted.push_back({"a=" + std::to_string(i)});
  int wrong = 0;
  for (const Candidate* one : decided(judge, wanted)) wrong += one->verdict != Judgement::unclear;
  EXPECT_GT(wrong, 10);
  EXPECT_LE(wrong, 50);
}

TEST(PlanSearch, RunsOnceWhatIsUnstableOrMissesByMoreThanTheBound) {
  const auto formula = [](const Values& v) -> Served {
    return {.usd_per_hour = 1, .p99_ttft_ms = 900 * v.at("a"), .stable = v.at("a") > 1};
  };
  const Plan plan = plan_of({list("a", {1, 2, 3})}, 1000);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  const auto candidates = decided(
      judge, {changes_at(plan.search, {0}), changes_at(plan.search, {1}), changes_at(plan.search, {2})});
  EXPECT_EQ(candidates[0]->runs.size(), 1U);  // unstable
  EXPECT_EQ(candidates[1]->runs.size(), 3U);  // 1,800: 80 % beyond
  EXPECT_EQ(candidates[2]->runs.size(), 1U);  // 2,700: 170 % beyond
  for (const Candidate* one : candidates) EXPECT_EQ(one->verdict, Judgement::misses);
  judge.give_intervals(candidates);
  for (const Candidate* one : candidates) EXPECT_EQ(one->runs.size(), 3U);
}

// Twenty kinds, each 10 dollars dearer than the one before; the first meets the target with 5 of 1,000 GB.
// Of the others only what could be on the front is run: the dearest is the fastest.
TEST(PlanSearch, DoesNotRunWhatIsDearerThanTheBest) {
  std::vector<double> kinds;
  for (int i = 0; i < 20; ++i) kinds.push_back(i);
  const auto formula = [](const Values& v) -> Served {
    return {.usd_per_hour = 10 * v.at("a") + 1e-3 * v.at("dram"),
            .p99_ttft_ms = 500 / v.at("dram") + 1 / (1 + v.at("a"))};
  };
  const Plan plan = plan_of({list("a", kinds), range("dram", 1000)}, 101);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  EXPECT_DOUBLE_EQ(result.best->metric("cost.usd_per_hour").mean, 0.005);
  std::set<double> ran;
  for (const Candidate* one : result.judged) ran.insert(values_of(one->changes).at("dram"));
  // Between its ends no other kind than the first: 2 ends and log2(1,000) values.
  EXPECT_LE(ran.size(), 2U + 10U);
  EXPECT_LE(evaluator.full_runs, 3 * (20 + 20 + 10));
}

TEST(PlanSearch, CountsWhatIsUnstableAsMissingEverythingByFar) {
  const Plan plan = plan_of({}, 1000);
  Candidate one;
  one.runs.emplace_back().metrics = {{"p99_ttft_ms", 1500.0}};
  EXPECT_DOUBLE_EQ(total_violation(plan, one), 0.5);
  one.reason = "unstable";
  EXPECT_GT(total_violation(plan, one), 1e5);
}

// The latencies of a saturated machine show how long it ran, not how far it is from serving the load.
TEST(PlanSearch, OfSaturatedMachinesThatWithTheLeastOfferedLoadIsNearest) {
  const Plan plan = plan_of({}, 1000);
  const auto saturated = [](double p99_ttft_ms, double offered_load) {
    Candidate one;
    one.reason = "unstable";
    one.runs.emplace_back().metrics = {{"p99_ttft_ms", p99_ttft_ms}, {"offered_load", offered_load}};
    return one;
  };
  EXPECT_LT(total_violation(plan, saturated(9000, 1.2)), total_violation(plan, saturated(100, 1.9)));
  EXPECT_LT(total_violation(plan, saturated(100, 1.2)), total_violation(plan, saturated(9000, 1.2)));
  EXPECT_GT(total_violation(plan, saturated(100, 0.5)), 1e5);
}

// One GPU does not hold the weights, and from the fourth on the target is met: four are bought.
TEST(PlanSearch, LooksBetweenWhatCannotRunAndWhatMeets) {
  const auto formula = [](const Values& v) -> Served {
    if (v.at("gpus") < 2) return {.reason = "does not fit"};
    return {.usd_per_hour = v.at("gpus"), .p99_ttft_ms = 400 / v.at("gpus")};
  };
  const Plan plan = plan_of({range("gpus", 8)}, 100);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  EXPECT_EQ(result.best->metric("cost.usd_per_hour").mean, 4);
}

// No range helps: one run of the top is enough to know.
TEST(PlanSearch, AsksTheTopBeforeWhatIsBelow) {
  const auto formula = [](const Values& v) -> Served {
    return {.usd_per_hour = v.at("gpus") + v.at("dram"), .p99_ttft_ms = 5000};
  };
  const Plan plan = plan_of({range("gpus", 30), range("dram", 40)}, 1000);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  EXPECT_EQ(find_plan(plan, judge).best, nullptr);
  EXPECT_LE(evaluator.full_runs, 8);  // the top and, for the front, the bottom; both to verify that
}

// A run that does not tell is asked for twice as long, under each seed.
TEST(PlanSearch, MakesRunsLongerUntilTheyTell) {
  class Slow : public Evaluator {
   public:
    std::vector<Answer> run(const std::vector<Ask>& asks) override {
      std::vector<Answer> answers;
      for (const Ask& ask : asks) {
        const bool tells = ask.share >= 4 || ask.share < 1;
        Answer& answer = answers.emplace_back();
        answer.result.metrics = {{"stable.verdict", std::string(tells ? "stable" : "undecided")},
                                 {"warmup.detected_turns", 0.0},
                                 {"cost.usd_per_hour", 1.0},
                                 {"p99_ttft_ms", tells ? 900.0 : 100.0}};
        answer.may_be_longer = ask.share < most;
        longest = std::max(longest, ask.share);
        if (ask.replication > 0) shortest_of_others = std::min(shortest_of_others, ask.share);
      }
      return answers;
    }
    double most = 64, longest = 0, shortest_of_others = 64;
  };
  const Plan plan = plan_of({list("a", {1})}, 500);
  Slow slow;
  Judge judge(plan, slow);
  const Candidate* judged = decided(judge, {changes_at(plan.search, {0})}).front();
  EXPECT_EQ(slow.longest, 4);
  EXPECT_EQ(slow.shortest_of_others, 4);  // which the first seed took
  EXPECT_EQ(judged->first_share, 4);
  EXPECT_EQ(judged->verdict, Judgement::misses);  // what short runs did not say
  EXPECT_EQ(judged->reason, "p99_ttft_ms");
  Slow limited;
  limited.most = 2;
  Judge other(plan, limited);
  const Candidate* open = decided(other, {changes_at(plan.search, {0})}).front();
  EXPECT_EQ(limited.longest, 2);
  EXPECT_EQ(open->verdict, Judgement::unclear);
  EXPECT_EQ(open->reason, "stable");
  EXPECT_FALSE(other.is_open(*open));  // all seeds have been asked
}

// Random figures along ranges, up to 38 % beyond the target: more hurts as often as it helps.
TEST(PlanSearch, FindsWhatExhaustiveSearchFindsWhereMoreHurts) {
  int with_answer = 0, with_wrong = 0;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    const RandomStream random(seed, "hurts");
    const auto formula = [&](const Values& v) -> Served {
      const auto which = static_cast<uint64_t>(1000 * v.at("a") + 40 * v.at("gpus") + v.at("dram"));
      return {.usd_per_hour = v.at("a") + v.at("gpus") + 0.1 * v.at("dram"),
              .p99_ttft_ms = 450 + 240 * random.uniform(which)};
    };
    const Plan plan = plan_of({list("a", {1, 2, 3}), range("gpus", 3), range("dram", 12)}, 500);
    Formula evaluator(formula);
    Judge judge(plan, evaluator);
    const PlanResult result = find_plan(plan, judge);
    ASSERT_EQ(result.best != nullptr, std::isfinite(exhaustive(plan, formula))) << seed;
    if (!result.best) continue;
    ++with_answer;
    with_wrong += result.implied.wrong > 0;
    EXPECT_NEAR(result.best->metric("cost.usd_per_hour").mean, exhaustive(plan, formula), 1e-9) << seed;
    EXPECT_EQ(result.implied.not_looked_at, 0) << seed;
  }
  EXPECT_GT(with_answer, 20);
  EXPECT_GT(with_wrong, 5);
}

// Noise as above: the second of two is not clear after three seeds, but dearer than the first.
TEST(PlanSearch, GivesFurtherSeedsToWhatWouldBeBetterAlone) {
  const auto formula = [](const Values& v) -> Served {
    return {.usd_per_hour = v.at("a"), .p99_ttft_ms = v.at("a") == 2 ? 980.0 : 100.0};
  };
  const Plan plan = plan_of({list("a", {1, 2})}, 1000);
  Formula evaluator(formula, 0.05);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  EXPECT_EQ(result.best->metric("cost.usd_per_hour").mean, 1);
  EXPECT_TRUE(result.rivals.empty());
  ASSERT_EQ(result.judged.size(), 2U);
  EXPECT_EQ(result.judged[1]->runs.size(), 3U);
  EXPECT_EQ(result.judged[1]->verdict, Judgement::unclear);
}

// The first of three looks good under three seeds and bad under the next ones. The second, which the first
// one's price had ruled out, is bought.
TEST(PlanSearch, LooksOnceMoreAtItsAnswerAndGoesOnWithoutIt) {
  class Lucky : public Evaluator {
   public:
    std::vector<Answer> run(const std::vector<Ask>& asks) override {
      std::vector<Answer> answers;
      for (const Ask& ask : asks) {
        const double a = values_of(ask.changes).at("a");
        const bool is_bad = a == 1 && ask.replication >= 3;
        answers.emplace_back().result.metrics = {
            {"cost.usd_per_hour", a}, {"p99_ttft_ms", is_bad ? 5000.0 : 100 - a}, {"stable", true}};
      }
      return answers;
    }
  };
  Plan plan = plan_of({list("a", {1, 2, 3})}, 1000);
  Lucky lucky;
  Judge judge(plan, lucky);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  EXPECT_EQ(result.best->metric("cost.usd_per_hour").mean, 2);
  EXPECT_EQ(result.best->runs.size(), 6U);
}

// A machine that is too large for the software says nothing of a smaller one.
TEST(PlanSearch, BuysWhatCanRunWhereMoreCannot) {
  const auto formula = [](const Values& v) -> Served {
    if (v.at("gpus") > 4) return {.reason = "8 heads do not divide by it"};
    return {.usd_per_hour = v.at("gpus"), .p99_ttft_ms = 1000 / v.at("gpus")};
  };
  const Plan plan = plan_of({range("gpus", 6)}, 600);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  EXPECT_EQ(result.best->metric("cost.usd_per_hour").mean, 2);
}

// Whether the cheaper of two is saturated no run tells; 6 seeds show that it misses anyway: of 3, the third
// is good by chance, as one in 12 is.
TEST(PlanSearch, AsksFurtherSeedsOfWhatMayBeSaturatedUntilItClearlyMisses) {
  class Undecided : public Evaluator {
   public:
    std::vector<Answer> run(const std::vector<Ask>& asks) override {
      std::vector<Answer> answers;
      for (const Ask& ask : asks) {
        const double a = values_of(ask.changes).at("a");
        const double bad = ask.replication % 12 == 2 ? 100 : 1400;
        answers.emplace_back().result.metrics = {
            {"cost.usd_per_hour", a},
            {"p99_ttft_ms", a == 1 ? bad : 100},
            {"stable.verdict", std::string(a == 1 ? "undecided" : "stable")}};
      }
      return answers;
    }
  };
  const Plan plan = plan_of({list("a", {1, 2})}, 1000);
  Undecided undecided;
  Judge judge(plan, undecided);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  EXPECT_EQ(result.best->metric("cost.usd_per_hour").mean, 2);
  EXPECT_TRUE(result.rivals.empty());
  EXPECT_EQ(result.judged.front()->runs.size(), 24U);
}

}  // namespace
}  // namespace kvcap::plan_search_test
