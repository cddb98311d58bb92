// Where a plan's answer flips, against closed forms; and why it is the answer.
#include "advise/flips.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "advise/advice.h"
#include "advise/perturb.h"
#include "unit/advise/decided.h"

namespace kvcap::plan_flips_test {
namespace {

// A machine with n SSDs costs 3 $ for its GPU and 2 $ an SSD; its p99 TTFT is 100 ms x rate x scale^2 / n,
// and kind B costs a dollar more and half the SSDs.
struct Setting {
  double ssds = 1, rate = 1;
  bool is_b = false;
};

Setting setting_of(const Changes& changes) {
  Setting setting;
  for (const std::string& change : changes) {
    const std::string value = change.substr(change.find('=') + 1);
    if (change.starts_with("ssds=")) setting.ssds = std::stod(value);
    if (change.starts_with("kind=")) setting.is_b = value == "b";
    if (change.starts_with("workload.arrivals.sessions_per_s=")) setting.rate = std::stod(value);
  }
  return setting;
}

class Machines : public Evaluator {
 public:
  std::vector<Answer> run(const std::vector<Ask>& asks) override {
    std::vector<Answer> answers;
    for (const Ask& ask : asks) {
      const Setting setting = setting_of(ask.changes);
      Answer& answer = answers.emplace_back();
      if (ask.context_scale != 1 && !may_scale)
        answer.reason = "prompts made of pieces cannot be made longer";
      const double gpu_usd = setting.is_b ? 4 : 3, ssd_usd = (setting.is_b ? 1 : 2) * setting.ssds;
      const double ttft_ms = 100 * setting.rate * ask.context_scale * ask.context_scale / setting.ssds;
      answer.result.metrics = {{"cost.usd_per_hour", gpu_usd + ssd_usd},
                               {"cost.total_usd", 10 * (gpu_usd + ssd_usd)},
                               {"cost.gpu_usd", 10 * gpu_usd},
                               {"cost.ssd_usd", 10 * ssd_usd},
                               {"p99_ttft_ms", ttft_ms},
                               {"mean_ttft_ms", ttft_ms / 2},
                               {"ttft_breakdown_ms.api", 0.0},
                               {"ttft_breakdown_ms.queue", 0.0},
                               {"ttft_breakdown_ms.lookup", 0.0},
                               {"ttft_breakdown_ms.load", ttft_ms / 2 - 5},
                               {"ttft_breakdown_ms.restore_compute", 0.0},
                               {"ttft_breakdown_ms.prefill", 5.0},
                               {"mean_batching_ms", setting.is_b ? 2.0 : 1.0},
                               {"bottleneck.ssd_read", 0.5},
                               {"bottleneck.gpu", 0.3},
                               {"bottleneck.none", 0.2},
                               {"stable", setting.rate < 100}};
      runs += ask.replication == 0;
    }
    return answers;
  }

  bool may_scale = true;
  int runs = 0;
};

// SSDs 1, 2, 4 for a p99 TTFT of 60 ms: two of them, 7 $, in kind A; b costs 6 $ with two.
Plan plan_of(const std::vector<std::string>& kinds) {
  Plan plan{.name = "test", .base = "", .meet = {{.metric = "p99_ttft_ms", .max = 60}}};
  plan.search.push_back({.paths = {"kind"}, .values = kinds, .numbers = {}});
  plan.search.push_back({.paths = {"ssds"}, .values = {"1", "2", "4"}, .numbers = {1, 2, 4}});
  return plan;
}

const ArrivalOptions kOneASecond{.sessions_per_s = 1};

struct Found {
  Machines machines;
  Plan plan;
  std::unique_ptr<Judge> judge;
  PlanResult result;

  explicit Found(const std::vector<std::string>& kinds) : plan(plan_of(kinds)) {
    judge = std::make_unique<Judge>(plan, machines);
    result = find_plan(plan, *judge);
    // All of them, as a search may have judged them.
    result.judged = decided(*judge, [&] {
      std::vector<Changes> all;
      for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        for (std::size_t ssds = 0; ssds < 3; ++ssds) all.push_back(changes_at(plan, {kind, ssds}));
      }
      return all;
    }());
    std::stable_sort(result.judged.begin(), result.judged.end(), [](const Candidate* a, const Candidate* b) {
      return a->metric("cost.usd_per_hour").mean < b->metric("cost.usd_per_hour").mean;
    });
  }
};

const Flip* find(const std::vector<Flip>& flips, const std::string& what, bool is_up) {
  for (const Flip& one : flips) {
    if (one.what == what && (one.factor > 1) == is_up) return &one;
  }
  return nullptr;
}

TEST(PlanFlips, BracketWhereTheAnswerMissesAndWhereSomethingCheaperMeets) {
  Found found({"a"});
  ASSERT_EQ(found.result.best->changes, (Changes{"kind=a", "ssds=2"}));
  const std::vector<Flip> flips = find_flips(found.plan, found.result, kOneASecond, *found.judge);
  const auto expect = [&](const Flip* flip, double at, const std::string& reason, const Changes& better) {
    ASSERT_TRUE(flip);
    EXPECT_TRUE(flip->is_found);
    EXPECT_LE(std::min(flip->holds, flip->factor), at);
    EXPECT_GE(std::max(flip->holds, flip->factor), at);
    EXPECT_LE(std::abs(std::log(flip->factor / flip->holds)), std::log(1.05) + 1e-12);
    EXPECT_EQ(flip->reason, reason);
    EXPECT_EQ(flip->better, better);
  };
  // 100 f / 2 = 60 and 100 f / 1 = 60; with scale^2 the roots of these.
  expect(find(flips, "traffic", true), 1.2, "p99_ttft_ms", {});
  expect(find(flips, "traffic", false), 0.6, "", {"kind=a", "ssds=1"});
  expect(find(flips, "prompts", true), std::sqrt(1.2), "p99_ttft_ms", {});
  expect(find(flips, "prompts", false), std::sqrt(0.6), "", {"kind=a", "ssds=1"});
}

void expect_nearest_first(const std::vector<Flip>& flips) {
  double last = 0;
  bool is_found = true;
  for (const Flip& one : flips) {
    EXPECT_TRUE(is_found || !one.is_found) << one.what;
    if (one.is_found != is_found) last = 0;
    is_found = one.is_found;
    EXPECT_GE(std::abs(std::log(one.factor)), last) << one.what;
    last = std::abs(std::log(one.factor));
  }
}

TEST(PlanFlips, ComeNearestFirstAndThoseNotFoundLast) {
  Found two({"a", "b"});
  const std::vector<Flip> all_found = find_flips(two.plan, two.result, kOneASecond, *two.judge);
  EXPECT_GE(all_found.size(), 5U);
  expect_nearest_first(all_found);
  Found found({"a"});
  found.plan.meet[0].max = 1000;  // one SSD is enough, up to ten times the traffic
  found.judge = std::make_unique<Judge>(found.plan, found.machines);
  found.result = find_plan(found.plan, *found.judge);
  const std::vector<Flip> flips = find_flips(found.plan, found.result, kOneASecond, *found.judge);
  expect_nearest_first(flips);
  const Flip* traffic = find(flips, "traffic", true);
  ASSERT_TRUE(traffic);
  EXPECT_FALSE(traffic->is_found);
  EXPECT_DOUBLE_EQ(traffic->factor, 4);
  // sqrt(10) is within reach of longer prompts.
  EXPECT_TRUE(find(flips, "prompts", true)->is_found);
}

TEST(PlanFlips, OfPricesAreWhereTwoCostsAreEqual) {
  Found found({"a", "b"});
  ASSERT_EQ(found.result.best->changes, (Changes{"kind=b", "ssds=2"}));
  const std::vector<Flip> flips = find_flips(found.plan, found.result, kOneASecond, *found.judge);
  // B: 4 + 2, A: 3 + 4. GPUs: 4 f + 2 = 3 f + 4 at f = 2. SSDs: 4 + 2 f = 3 + 4 f at f = 0.5.
  const Flip* gpu = find(flips, "GPU price", true);
  ASSERT_TRUE(gpu);
  EXPECT_DOUBLE_EQ(gpu->factor, 2);
  EXPECT_EQ(gpu->better, (Changes{"kind=a", "ssds=2"}));
  const Flip* ssd = find(flips, "SSD price", false);
  ASSERT_TRUE(ssd);
  EXPECT_DOUBLE_EQ(ssd->factor, 0.5);
  EXPECT_FALSE(find(flips, "GPU price", false));
  EXPECT_FALSE(find(flips, "SSD price", true));
  // A with four SSDs, 3 + 8, is as dear at f = 6 only, and no nearer where it was judged before A with two.
  std::reverse(found.result.judged.begin(), found.result.judged.end());
  const std::vector<Flip> reversed = find_flips(found.plan, found.result, kOneASecond, *found.judge);
  EXPECT_DOUBLE_EQ(find(reversed, "GPU price", true)->factor, 2);
  EXPECT_DOUBLE_EQ(find(reversed, "SSD price", false)->factor, 0.5);
}

TEST(PlanFlips, LeaveOutWhatCannotBeChanged) {
  Found found({"a"});
  found.machines.may_scale = false;
  ArrivalOptions trace = kOneASecond;
  trace.process = ArrivalProcess::trace;
  const std::vector<Flip> flips = find_flips(found.plan, found.result, trace, *found.judge);
  EXPECT_FALSE(find(flips, "traffic", true));
  EXPECT_FALSE(find(flips, "prompts", true));
  EXPECT_FALSE(find(flips, "prompts", false));
}

TEST(PlanWhy, TakesTheCheapestOfAnotherKindAsRunnerUpAndAddsUp) {
  Found found({"a", "b"});
  // More SSDs of the same kind come first here, and are passed over.
  const Candidate* more = decided(*found.judge, {{"kind=b", "ssds=4"}}).front();
  found.result.judged.insert(found.result.judged.begin(), more);
  const Why found_why = why(found.plan, found.result);
  ASSERT_TRUE(found_why.runner_up);
  EXPECT_EQ(found_why.runner_up->changes, (Changes{"kind=a", "ssds=2"}));
  EXPECT_DOUBLE_EQ(found_why.objective.mean, -1);
  double cost = 0, ttft_ms = 0;
  for (const PartDifference& one : found_why.costs) cost += one.difference.mean;
  for (const PartDifference& one : found_why.ttft_parts_ms) ttft_ms += one.difference.mean;
  EXPECT_DOUBLE_EQ(cost, found_why.objective.mean);
  EXPECT_DOUBLE_EQ(ttft_ms, found_why.ttft_ms.mean);
  EXPECT_EQ(found_why.costs[0].name, "GPU");
  EXPECT_DOUBLE_EQ(found_why.costs[0].difference.mean, 1);
  EXPECT_DOUBLE_EQ(found_why.costs[2].difference.mean, -2);
  // The same prefill, 1 ms more of it in steps with others.
  EXPECT_EQ(found_why.ttft_parts_ms[6].name, "prefill");
  EXPECT_DOUBLE_EQ(found_why.ttft_parts_ms[6].difference.mean, -1);
  EXPECT_DOUBLE_EQ(found_why.ttft_parts_ms[7].difference.mean, 1);
}

TEST(PlanWhy, FallsBackToOtherSizesAndToWhatMisses) {
  Found found({"a"});
  EXPECT_EQ(why(found.plan, found.result).runner_up->changes, (Changes{"kind=a", "ssds=4"}));
  found.result.judged.resize(2);  // without four SSDs
  found.result.next_better = found.result.judged.front();
  EXPECT_EQ(why(found.plan, found.result).runner_up->changes, (Changes{"kind=a", "ssds=1"}));
  found.result.judged = {found.result.best};
  found.result.next_better = nullptr;
  EXPECT_FALSE(why(found.plan, found.result).runner_up);
}

TEST(PlanWhy, ListsBottlenecksFromTheLargestWithNoneLast) {
  Found found({"a"});
  const std::vector<BottleneckShare> shares = bottleneck(*found.result.best);
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_EQ(shares[0].resource, "ssd_read");
  EXPECT_EQ(shares[1].resource, "gpu");
  EXPECT_EQ(shares[2].resource, "none");
}

// Each change takes a millisecond off the p99 TTFT.
class FasterWithMore : public Evaluator {
 public:
  std::vector<Answer> run(const std::vector<Ask>& asks) override {
    std::vector<Answer> answers;
    for (const Ask& ask : asks) {
      answers.emplace_back().result.metrics = {{"cost.usd_per_hour", 3.0},
                                               {"p99_ttft_ms", 50 - static_cast<double>(ask.changes.size()) +
                                                                   static_cast<double>(ask.replication)},
                                               {"stable", true}};
    }
    return answers;
  }
};

// What is tried on a machine like an H100 with other storage, and how much more it is.
std::string more_of(const Changes& storage) {
  const Plan plan{.name = "test",
                  .base = std::string(KVCAP_SOURCE_DIR) + "/scenarios/demo.json",
                  .meet = {{.metric = "p99_ttft_ms", .max = 60}}};
  FasterWithMore machines;
  Judge judge(plan, machines);
  PlanResult result;
  Changes answer = {"hardware=h100-sxm"};
  answer.insert(answer.end(), storage.begin(), storage.end());
  result.best = judge.look({{answer}}).front();
  std::string text;
  for (const Marginal& one : marginal_values(plan, result, judge)) {
    // A millisecond for each change, under every seed.
    EXPECT_EQ(one.quality.mean, one.what.starts_with("hardware.gpu.count") ? -2 : -1) << one.what;
    EXPECT_EQ(one.quality.half_width, 0) << one.what;
    text += one.what + ": " + std::to_string(one.units) + " " + std::string(name(one.unit)) +
            (one.has_price ? "" : ", no price") + "\n";
  }
  return text;
}

TEST(PlanAdvice, TriesMoreOfEveryResourceThatThePlanLeavesAlone) {
  EXPECT_EQ(more_of({R"(hardware.remote={"bandwidth_bytes_per_s": 1e10, "capacity_bytes": 1e13})"}),
            R"(hardware.gpu.count 1 -> 2: 1.000000 GPU
fleet.replicas 1 -> 2: 1.000000 GPU
hardware.dram.capacity_bytes 250000000000 -> 312500000000: 0.062500 TB
hardware.ssd.count 1 -> 2: 1.000000 SSD
hardware.remote.capacity_bytes 10000000000000 -> 12500000000000: 2.500000 TB
hardware.ssd.read_bandwidth_bytes_per_s 14200000000 -> 15620000000: 1.420000 GB/s, no price
hardware.remote.bandwidth_bytes_per_s 10000000000 -> 11000000000: 1.000000 GB/s, no price
)");
}

// More devices that stay empty cannot help, and all of them would be billed.
TEST(PlanAdvice, TriesNoMoreDevicesOfATierThatThePolicyDoesNotUse) {
  EXPECT_EQ(more_of({"policy.name=recompute"}).find("hardware.ssd.count"), std::string::npos);
}

// Where rates by size are measured, they and not the bandwidth say how long a copy takes.
TEST(PlanAdvice, TriesAFasterPcieLinkWhereNoRatesByItsSizesAreMeasured) {
  const std::string faster =
      "hardware.pcie.h2d_bandwidth_bytes_per_s 50000000000 -> 55000000000: 5.000000 GB/s";
  const Changes pcie = {"hardware.pcie.h2d_bandwidth_bytes_per_s=5e10"};
  EXPECT_EQ(more_of(pcie).find(faster), std::string::npos);
  EXPECT_NE(more_of({pcie[0], "hardware.pcie.h2d_curve=[]"}).find(faster + ", no price\n"),
            std::string::npos);
}

// The p99 TTFT falls by a millisecond with each unit of each value.
class FasterWithLarger : public Evaluator {
 public:
  std::vector<Answer> run(const std::vector<Ask>& asks) override {
    std::vector<Answer> answers;
    for (const Ask& ask : asks) {
      double units = 0;
      for (const std::string& change : ask.changes) units += std::stod(change.substr(change.find('=') + 1));
      answers.emplace_back().result.metrics = {
          {"cost.usd_per_hour", 3.0}, {"p99_ttft_ms", 50 - units}, {"stable", true}};
    }
    return answers;
  }
};

// The values of a list need not ascend; the largest has none after it.
TEST(PlanAdvice, TriesTheNextLargerValueOfEachSearchedResource) {
  Plan plan{.name = "test",
            .base = std::string(KVCAP_SOURCE_DIR) + "/scenarios/demo.json",
            .meet = {{.metric = "p99_ttft_ms", .max = 60}}};
  plan.search.push_back(
      {.paths = {"hardware.ssd.count"}, .values = {"8", "1", "4", "2"}, .numbers = {8, 1, 4, 2}});
  plan.search.push_back({.paths = {"fleet.replicas"}, .values = {"1", "3"}, .numbers = {1, 3}});
  FasterWithLarger machines;
  Judge judge(plan, machines);
  const auto searched = [&](const Point& answer) {
    PlanResult result;
    result.best_point = answer;
    result.best = judge.look({{changes_at(plan, answer)}}).front();
    std::vector<std::string> names;
    for (const Marginal& one : marginal_values(plan, result, judge)) {
      const bool is_searched =
          one.what.starts_with("hardware.ssd.count") || one.what.starts_with("fleet.replicas");
      if (is_searched) names.push_back(one.what);
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(searched({1, 0}), (Names{"fleet.replicas 1 -> 3", "hardware.ssd.count 1 -> 2"}));
  EXPECT_EQ(searched({0, 1}), Names{});
}

}  // namespace
}  // namespace kvcap::plan_flips_test
