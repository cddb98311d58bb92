#include "soak/plans.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

#include "advise/search.h"
#include "advise/simulator.h"
#include "plan/replicate.h"
#include "reference/dice.h"
#include "scenario/json.h"

namespace kvcap::soak {
namespace {

constexpr double kLength = 20;            // in multiples of the plan's sessions
constexpr double kLongest = 4 * kLength;  // if kLength is too short for the long run
constexpr int64_t kSeeds = 6;
constexpr int64_t kFirstSeed = 1000;  // far from the plan's seeds
constexpr double kEqual = 1e-9;       // prices with a smaller relative difference are equal

Json range(double min, double max, double factor) { return {{"min", min}, {"max", max}, {"factor", factor}}; }

// Draws machines from profiles with prices; a model of 8 billion parameters fits on one GPU of each.
Json machines(reference::Dice& dice) {
  const std::vector<std::string> all = {"l40s", "rtx-4090", "a100-80g-sxm", "h100-sxm", "rtx-pro-6000"};
  Json some = Json::array();
  for (const std::string& one : all) {
    if (dice.chance(0.4)) some.push_back(one);
  }
  if (some.empty()) some.push_back(all[static_cast<std::size_t>(dice.between(0, 4))]);
  while (some.size() > 2) some.erase(some.begin());
  return some;
}

Json policies(reference::Dice& dice) {
  const std::vector<std::vector<const char*>> choices = {{"recompute", "kv_offload"},
                                                         {"recompute", "hcache"},
                                                         {"kv_offload", "hcache"},
                                                         {"recompute", "kv_offload", "hcache"},
                                                         {"cached_attention", "hcache"}};
  return choices[static_cast<std::size_t>(dice.between(0, 4))];
}

// A configuration with its price, which does not vary between runs, and its class by exhaustive search.
struct Exhausted {
  Point point;
  double usd_per_hour = 0;
  Judgement verdict = Judgement::unclear;
};

class Exhaustive {
 public:
  Exhaustive(const Plan& plan, Simulator& simulator) : plan_(plan), simulator_(simulator) {}

  std::vector<Exhausted> run() {
    std::vector<Exhausted> all;
    for (Point& point : grid(plan_, Point(plan_.search.size(), 0), [](std::size_t) { return true; })) {
      all.push_back(judge(std::move(point)));
    }
    return all;
  }

 private:
  Exhausted judge(Point point) {
    Exhausted one{.point = std::move(point)};
    const Changes changes = changes_at(plan_, one.point);
    std::vector<RunResult> runs;
    // A configuration that misses a target by far with two seeds is not run with others.
    for (int64_t count : {int64_t{2}, kSeeds}) {
      std::vector<Ask> asks;
      for (int64_t r = std::ssize(runs); r < count; ++r)
        asks.push_back({.changes = changes, .share = kLength, .replication = kFirstSeed + r});
      for (Answer& answer : long_runs(std::move(asks))) {
        if (!answer.reason.empty()) {
          one.verdict = Judgement::cannot_run;
          return one;
        }
        runs.push_back(std::move(answer.result));
      }
      one.usd_per_hour = runs.front().number(plan_.minimize);
      if (misses_by_far(runs)) break;
    }
    one.verdict = verdict_of(runs);
    return one;
  }

  std::vector<Answer> long_runs(std::vector<Ask> asks) {
    std::vector<Answer> answers = simulator_.run(asks);
    for (std::size_t i = 0; i < asks.size(); ++i) {
      while (answers[i].may_be_longer && !tells_the_long_run(answers[i].result) && asks[i].share < kLongest) {
        asks[i].share *= 2;
        answers[i] = simulator_.run({asks[i]}).front();
      }
    }
    return answers;
  }

  bool misses_by_far(const std::vector<RunResult>& runs) const {
    return std::any_of(runs.begin(), runs.end(), [&](const RunResult& run) {
      return run.number("stable") == 0 ||
             std::any_of(plan_.meet.begin(), plan_.meet.end(),
                         [&](const Target& target) { return run.number(target.metric) > 2 * target.max; });
    });
  }

  Judgement verdict_of(const std::vector<RunResult>& runs) const {
    bool is_clear = true;
    for (const RunResult& run : runs) {
      if (run.number("stable") == 0 || run.number("rejected") > 0 || run.number("truncated") > 0)
        return Judgement::misses;
      is_clear = is_clear && run.number("stable") == 1;
    }
    for (const Target& target : plan_.meet) {
      std::vector<double> values;
      for (const RunResult& run : runs) values.push_back(run.number(target.metric));
      const MeanInterval value = mean_interval(values, 0.95);
      if (value.mean - value.half_width > target.max) return Judgement::misses;
      is_clear = is_clear && value.mean + value.half_width <= target.max;
    }
    return is_clear ? Judgement::meets : Judgement::unclear;
  }

  const Plan& plan_;
  Simulator& simulator_;
};

bool are_equal(double a, double b) { return std::abs(a - b) <= kEqual * std::max(std::abs(a), std::abs(b)); }

void compare(const Plan& plan, const PlanResult& result, const std::vector<Exhausted>& all,
             PlanOutcome& outcome) {
  double least = std::numeric_limits<double>::infinity();
  const Exhausted* found = nullptr;
  for (const Exhausted& one : all) {
    outcome.unclear += one.verdict == Judgement::unclear;
    outcome.meeting += one.verdict == Judgement::meets;
    if (one.verdict == Judgement::meets) least = std::min(least, one.usd_per_hour);
    if (result.best && one.point == result.best_point) found = &one;
  }
  outcome.least_usd_per_hour = std::isfinite(least) ? least : NAN;
  outcome.found_usd_per_hour = found ? found->usd_per_hour : NAN;
  const auto end = [&](Agreement agreement, const std::string& what) {
    outcome.agreement = agreement;
    outcome.what = what;
  };
  if (found && (found->verdict == Judgement::misses || found->verdict == Judgement::cannot_run))
    return end(Agreement::different, "the plan's winner misses");
  const double price = found ? found->usd_per_hour : std::numeric_limits<double>::infinity();
  if (found && found->verdict == Judgement::meets && are_equal(price, least)) return;
  if (!found && !std::isfinite(least)) return;
  if (found && (price < least || are_equal(price, least)))
    return end(Agreement::not_told_apart, "the plan's winner is unclear to exhaustive search");
  const bool is_named = std::any_of(result.rivals.begin(), result.rivals.end(), [&](const Candidate* one) {
    return are_equal(one->metric(plan.minimize).mean, least);
  });
  const bool is_unclear = std::any_of(result.judged.begin(), result.judged.end(), [&](const Candidate* one) {
    return one->verdict == Judgement::unclear && are_equal(one->metric(plan.minimize).mean, least);
  });
  if (is_named || is_unclear) return end(Agreement::not_told_apart, "the plan calls the cheaper one unclear");
  end(Agreement::different, "the plan does not see the cheaper one");
}

}  // namespace

const char* name(Agreement agreement) {
  constexpr const char* kNames[] = {"same", "not_told_apart", "different"};
  return kNames[static_cast<std::size_t>(agreement)];
}

std::string plan_json(uint64_t number) {
  reference::Dice dice(number);
  Json search;
  search["hardware"] = machines(dice);
  search["policy.name"] = policies(dice);
  // SSDs from slower than recomputation to faster, so that more hits can hurt.
  const double ssd_bytes_per_s = 0.5e9 * std::pow(14.0, dice.within(0, 1));
  search["hardware.ssd.read_bandwidth_bytes_per_s"] = Json::array({ssd_bytes_per_s});
  switch (dice.between(0, 3)) {
    case 0:
      search["hardware.ssd.count"] = range(1, 8, 2);
      break;
    case 1:
      search["policy.tiers"] = Json::array({Json::array({{{"kind", "dram"}}})});
      search["hardware.dram.capacity_bytes"] = range(4e9, 256e9, 4);
      break;
    case 2:
      search["policy.tiers"] = Json::array(
          {Json::array({{{"kind", "ssd"}}}), Json::array({{{"kind", "dram"}}, {{"kind", "ssd"}}})});
      search["hardware.dram.capacity_bytes"] = range(16e9, 64e9, 2);
      break;
    default:
      search["policy.tiers"] = Json::array({Json::array({{{"kind", "ssd"}}})});
      search["hardware.ssd.count"] = Json::array({1});
      search["hardware.ssd.capacity_bytes"] = range(8e9, 512e9, 4);
  }
  if (search["policy.name"].size() * search["hardware"].size() <= 3) {
    search["hardware.gpu.count, serving.tensor_parallel_size"] = {1, 2};
  }
  const Json base = {{"schema", "kvcap.scenario/1"},
                     {"model", dice.chance(0.5) ? "llama-2-7b" : "llama-3.1-8b"},
                     {"hardware", "l40s"},
                     {"serving", {{"max_model_len", 16384}, {"prefix_caching", dice.chance(0.5)}}},
                     {"workload",
                      {{"source", {{"kind", "chat"}}},
                       {"arrivals", {{"sessions_per_s", 0.2 * std::pow(15.0, dice.within(0, 1))}}},
                       {"think_time", {{"mean_s", dice.between(10, 40)}}},
                       {"sessions", 24}}},
                     {"policy", {{"name", "hcache"}, {"tiers", Json::array({{{"kind", "ssd"}}})}}},
                     {"seed", 1}};
  const Json plan = {{"schema", "kvcap.plan/1"},
                     {"name", "random plan " + std::to_string(number)},
                     {"base", base},
                     {"search", search},
                     {"meet",
                      {{"p99_ttft_ms", {{"max", 100 * std::pow(20.0, dice.within(0, 1))}}},
                       {"p99_tpot_ms", {{"max", 100}}}}},
                     {"max_replications", 12}};
  return plan.dump(2);
}

PlanOutcome compare_with_exhaustive(uint64_t number) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      ("kvcap_plan_" + std::to_string(getpid()) + "_" + std::to_string(number) + ".json");
  std::ofstream(file) << plan_json(number);
  const Plan plan = load_plan(file.string());
  PlanOutcome outcome{.number = number};
  Simulator simulator(plan);
  Judge judge(plan, simulator);
  const PlanResult result = find_plan(plan, judge);
  outcome.configurations = result.configurations;
  outcome.simulations = simulator.simulations();
  outcome.verified = result.implied.verified;
  outcome.wrong = result.implied.wrong;
  compare(plan, result, Exhaustive(plan, simulator).run(), outcome);
  std::filesystem::remove(file);
  return outcome;
}

}  // namespace kvcap::soak
