// The search of kvcap plan against exhaustive search, on formulas and on one small simulated plan; what it
// says when nothing or nothing certain is found; and bad plan files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/input_error.h"
#include "base/random.h"
#include "plan/break_even.h"
#include "plan/plan_advice.h"
#include "plan/plan_search.h"
#include "plan/plan_simulate.h"

namespace kvcap {
namespace {

using Values = std::map<std::string, double>;

struct Served {
  double usd_per_hour = 0, p99_ttft_ms = 0;
  bool stable = true;
  std::string reason;
};

Values values_of(const Changes& changes) {
  Values values;
  for (const std::string& change : changes) {
    const std::size_t equals = change.find('=');
    values[change.substr(0, equals)] = std::stod(change.substr(equals + 1));
  }
  return values;
}

// A formula in place of simulations. Short workloads are wrong by `short_error`, single runs by `noise`.
class Formula : public Evaluator {
 public:
  explicit Formula(std::function<Served(const Values&)> formula, double noise = 0, double short_error = 0)
      : formula_(std::move(formula)), noise_(noise), short_error_(short_error) {}

  std::vector<Answer> run(const std::vector<Ask>& asks) override {
    std::vector<Answer> answers;
    for (const Ask& ask : asks) {
      const Served machine = formula_(values_of(ask.changes));
      Answer& answer = answers.emplace_back();
      answer.reason = machine.reason;
      const double error = ask.share < 1 ? 1 + short_error_ : 1;
      // The same for every configuration: seeds are shared.
      const double sign = ask.replication % 2 == 0 ? 1 : -1;
      const double noise = 1 + sign * noise_ * (1 + static_cast<double>(ask.replication % 3));
      answer.result.metrics = {{"cost.usd_per_hour", machine.usd_per_hour},
                               {"p99_ttft_ms", machine.p99_ttft_ms * error * noise},
                               {"stable", machine.stable}};
      full_runs += ask.share == 1;
    }
    return answers;
  }

  int full_runs = 0;

 private:
  std::function<Served(const Values&)> formula_;
  double noise_, short_error_;
};

Dimension list(const std::string& path, const std::vector<double>& numbers, bool is_range = false) {
  Dimension dimension{.paths = {path}, .values = {}, .numbers = numbers, .is_range = is_range};
  for (double number : numbers) dimension.values.push_back(std::to_string(number));
  return dimension;
}

Dimension range(const std::string& path, int count) {
  std::vector<double> numbers;
  for (int i = 1; i <= count; ++i) numbers.push_back(i);
  return list(path, numbers, true);
}

Plan plan_of(std::vector<Dimension> search, double max_ttft_ms) {
  return {.name = "test",
          .base = "",
          .search = std::move(search),
          .meet = {{.metric = "p99_ttft_ms", .max = max_ttft_ms}}};
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
  EXPECT_LE(evaluator.full_runs, 3 * 12);
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
  const auto candidates = judge.judge({changes_at(plan.search, {0}), changes_at(plan.search, {1})});
  EXPECT_EQ(candidates[0]->runs.size(), 12U);
  EXPECT_EQ(candidates[0]->verdict, Judgement::meets);
  EXPECT_EQ(candidates[1]->runs.size(), 3U);
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
  for (const Candidate* one : judge.judge(wanted)) wrong += one->verdict != Judgement::unclear;
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
  const auto candidates =
      judge.judge({changes_at(plan.search, {0}), changes_at(plan.search, {1}), changes_at(plan.search, {2})});
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

// No range helps: one run of the top is enough to know.
TEST(PlanSearch, AsksTheTopBeforeWhatIsBelow) {
  const auto formula = [](const Values& v) -> Served {
    return {.usd_per_hour = v.at("gpus") + v.at("dram"), .p99_ttft_ms = 5000};
  };
  const Plan plan = plan_of({range("gpus", 30), range("dram", 40)}, 1000);
  Formula evaluator(formula);
  Judge judge(plan, evaluator);
  EXPECT_EQ(find_plan(plan, judge).best, nullptr);
  EXPECT_LE(evaluator.full_runs, 6);  // the top and, for the front, the bottom
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

class PlanFile : public testing::Test {
 protected:
  PlanFile() : folder_(std::filesystem::temp_directory_path() / ("kvcap_plan_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~PlanFile() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& search, const std::string& meet, const std::string& rest = "") const {
    const std::string path = (folder_ / "plan.json").string();
    std::ofstream(path)
        << R"({"schema": "kvcap.plan/1", "base": {"model": "llama-2-7b", "hardware": "h100-sxm",
      "schema": "kvcap.scenario/1", "workload": {"source": {"kind": "chat"}, "sessions": 60}},
      "search": )"
        << search << R"(, "meet": )" << meet << rest << "}";
    return path;
  }
  // The message without the folder.
  std::string refusal(const std::string& search, const std::string& meet,
                      const std::string& rest = "") const {
    const std::string path = write(search, meet, rest);
    try {
      check_values(load_plan(path), path);
    } catch (const InputError& error) {
      std::string message = error.what();
      for (std::size_t at; (at = message.find(folder_.string() + "/")) != std::string::npos;) {
        message.erase(at, folder_.string().size() + 1);
      }
      return message;
    }
    return "";
  }

  std::filesystem::path folder_;
};

constexpr const char* kSearch = R"({"policy.name": ["hcache", "kv_offload"]})";
constexpr const char* kMeet = R"({"p99_ttft_ms": {"max": 500}})";

TEST_F(PlanFile, AppliesObjectsBeforeWhatIsInside) {
  const Plan plan = load_plan(write(
      R"({"hardware.ssd.count": {"min": 1, "max": 8, "factor": 2}, "hardware": ["h100-sxm"],
          "hardware.gpu.count, serving.tensor_parallel_size": [1, 2]})",
      kMeet));
  EXPECT_EQ(changes_at(plan.search, {0, 3, 1}),
            (Changes{"hardware=h100-sxm", "hardware.ssd.count=8", "hardware.gpu.count=2",
                     "serving.tensor_parallel_size=2"}));
  EXPECT_EQ(plan.base, (folder_ / "plan.json").string() + "#base");
}

TEST_F(PlanFile, IsRefusedWithOneLineThatSaysWhere) {
  EXPECT_EQ(refusal(kSearch, kMeet), "");
  EXPECT_EQ(
      refusal(kSearch, R"({"p99_ttft_m": {"max": 500}})"),
      "plan.json: meet.p99_ttft_m: found the metric \"p99_ttft_m\", allowed: a number of the result; did "
      "you mean \"p99_ttft_ms\"?");
  EXPECT_EQ(refusal(kSearch, R"({"p99_ttft_ms": {"maxx": 500}})"),
            "plan.json: meet.p99_ttft_ms.maxx: unknown field, allowed: min, max; did you mean \"max\"?");
  EXPECT_EQ(refusal(kSearch, R"({"p99_ttft_ms": {"max": "500"}})"),
            "plan.json: meet.p99_ttft_ms.max: found \"500\", allowed: a number");
  EXPECT_EQ(refusal(R"({"hardware.ssd.count": {"min": 1, "max": 8}})", kMeet),
            "plan.json: search.hardware.ssd.count: allowed: min and max with either step or factor");
  EXPECT_EQ(refusal(R"({"hardware.ssd.count": {"min": 4, "max": 1, "step": 1}})", kMeet),
            "plan.json: search.hardware.ssd.count.max: found 1, allowed: a number of at least min");
  EXPECT_EQ(refusal(R"({"hardware.ssd.count": 4})", kMeet),
            "plan.json: search.hardware.ssd.count: found 4, allowed: a list of values, or {\"min\", \"max\", "
            "\"step\"}");
  EXPECT_EQ(refusal(kSearch, kMeet, R"(, "minimise": "x")"),
            "plan.json: minimise: unknown field, allowed: schema, name, base, search, meet, notes, minimize, "
            "max_replications, break_even; did you mean \"minimize\"?");
  EXPECT_EQ(refusal(kSearch, kMeet, R"(, "max_replications": 0)"),
            "plan.json: max_replications: found 0, allowed: an integer from 1 to 1000");
}

// A value that no configuration accepts can be no answer; a pair that does not go together can be left out.
TEST_F(PlanFile, IsRefusedForAValueThatNothingAccepts) {
  EXPECT_EQ(refusal(R"({"hardware.gpu.count": [1, 2], "serving.tensor_parallel_size": [1, 2]})", kMeet), "");
  const std::string typo = refusal(R"({"policy.name": ["hcache", "kv_ofload"]})", kMeet);
  EXPECT_TRUE(
      typo.starts_with("plan.json: search.policy.name: no configuration accepts kv_ofload: --set "
                       "policy.name=kv_ofload: found \"kv_ofload\""))
      << typo;
  EXPECT_TRUE(typo.ends_with("did you mean \"kv_offload\"?")) << typo;
  const std::string path = refusal(R"({"hardware.sdd.count": [1]})", kMeet);
  EXPECT_NE(path.find("did you mean \"ssd\"?"), std::string::npos) << path;
}

// Every point of the plan on the whole workload.
struct Exhausted {
  double least = std::numeric_limits<double>::infinity();
  std::size_t meeting = 0, all = 0;
};
Exhausted exhaust(const Plan& plan, Simulator& simulator) {
  std::vector<Changes> all = {{}};
  for (const Dimension& dimension : plan.search) {
    std::vector<Changes> finer;
    for (const Changes& changes : all) {
      for (const std::string& value : dimension.values) {
        finer.push_back(changes);
        for (const std::string& path : dimension.paths) finer.back().push_back(path + "=" + value);
      }
    }
    all = std::move(finer);
  }
  Judge judge(plan, simulator);
  Exhausted found{.all = all.size()};
  for (const Candidate* one : judge.judge(all)) {
    if (one->verdict != Judgement::meets) continue;
    ++found.meeting;
    found.least = std::min(found.least, one->metric("cost.usd_per_hour").mean);
  }
  return found;
}

void expect_the_same(const Plan& plan) {
  Simulator simulator(plan);
  Judge judge(plan, simulator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  const Exhausted found = exhaust(plan, simulator);
  EXPECT_GT(found.meeting, 0U);
  EXPECT_LT(found.meeting, found.all);
  EXPECT_DOUBLE_EQ(result.best->metric("cost.usd_per_hour").mean, found.least);
}

TEST_F(PlanFile, FindsBySimulationWhatExhaustiveSearchFinds) {
  expect_the_same(load_plan(write(
      R"({"hardware": ["l40s", "a100-80g-sxm"], "policy.name": ["recompute", "hcache"],
          "hardware.dram.capacity_bytes": {"min": 1e10, "max": 8e10, "factor": 2},
          "policy.tiers": [[{"kind": "dram"}]]})",
      R"({"token_hit_rate": {"min": 0.7}, "p99_ttft_ms": {"max": 1000}})", R"(, "max_replications": 3)")));
}

TEST_F(PlanFile, SearchesStorageBehindANetwork) {
  expect_the_same(load_plan(write(
      R"({"policy.name": ["kv_offload"],
          "hardware.remote": [{"capacity_bytes": 0, "bandwidth_bytes_per_s": 5e9, "price_usd_per_gb_hour": 1e-3}],
          "hardware.remote.capacity_bytes": {"min": 1e10, "max": 8e10, "factor": 2},
          "hardware.dram.capacity_bytes": {"min": 1e10, "max": 4e10, "factor": 4},
          "policy.tiers": [[{"kind": "remote"}], [{"kind": "dram"}, {"kind": "remote"}]]})",
      R"({"token_hit_rate": {"min": 0.5}})", R"(, "max_replications": 3)")));
}

// Machines and policies as the scenarios of this project have them, under the plan's workload and targets:
// what meets them is no cheaper than the answer.
TEST_F(PlanFile, IsAsGoodAsWhatPeopleHaveSetUpByHand) {
  const std::string path = write(
      R"({"hardware": ["a100-80g-sxm", "h100-sxm"], "policy.name": ["kv_offload", "hcache"],
          "policy.tiers": [[{"kind": "ssd"}]],
          "hardware.ssd.count": {"min": 1, "max": 4, "factor": 2}})",
      R"({"p99_ttft_ms": {"max": 400}, "token_hit_rate": {"min": 0.5}})", R"(, "max_replications": 6)");
  const Plan plan = load_plan(path);
  Simulator simulator(plan);
  Judge judge(plan, simulator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);

  std::vector<Changes> by_hand;
  for (const char* name : {"chat-7b", "leval-8b-h100", "mooncake", "papers/cached_attention/figure_22"}) {
    std::ifstream file(std::string(KVCAP_SOURCE_DIR "/scenarios/") + name + ".json");
    const auto scenario = nlohmann::json::parse(file);
    by_hand.push_back({"hardware=" + scenario["hardware"].get<std::string>(),
                       "policy=" + scenario["policy"].dump(),
                       "serving.tensor_parallel_size=" +
                           std::to_string(scenario["serving"].value("tensor_parallel_size", 1))});
  }
  std::size_t meeting = 0;
  for (const Candidate* one : judge.judge(by_hand)) {
    ASSERT_NE(one->verdict, Judgement::cannot_run) << one->reason;
    if (one->verdict != Judgement::meets) continue;
    ++meeting;
    EXPECT_LE(result.best->metric("cost.usd_per_hour").mean, one->metric("cost.usd_per_hour").mean);
  }
  EXPECT_GT(meeting, 0U);
}

// hcache reads half of what kv_offload reads: with one SSD it is first; recompute is where nothing is worth
// reading, for a few tokens.
TEST_F(PlanFile, MapsWhoWinsWhereAndWhereTheClosedFormPutsTheLine) {
  const Plan plan = load_plan(write(kSearch, kMeet,
                                    R"(, "break_even": {"policies": ["recompute", "kv_offload", "hcache"],
      "across": {"tokens": [64, 256, 1024, 4096]}, "down": {"hardware.ssd.count": [1, 8]},
      "set": {"hardware": "a100-40g-4x-pm9a3", "hardware.ssd.read_bandwidth_bytes_per_s": 0.8e9}})"));
  const BreakEvenMap map = break_even_map(plan);
  ASSERT_EQ(map.rows.size(), 2U);
  for (const std::vector<BreakEvenCell>& row : map.rows) {
    for (const BreakEvenCell& cell : row) {
      ASSERT_GE(cell.winner, 0);
      EXPECT_GE(cell.lead, 1);
      for (const Contestant& one : cell.policies) {
        EXPECT_EQ(one.reason, "");
        EXPECT_NEAR(one.ttft_s, one.closed_form_ttft_s, 0.02 * one.closed_form_ttft_s);
      }
    }
  }
  EXPECT_EQ(map.rows[0][0].winner, 0);
  EXPECT_EQ(map.rows[0][3].winner, 2);
  ASSERT_FALSE(map.boundaries.empty());
  for (const Boundary& one : map.boundaries) {
    EXPECT_NEAR(one.simulated, one.closed_form, 0.1 * one.closed_form);
  }
}

}  // namespace
}  // namespace kvcap
