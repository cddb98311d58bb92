#include "soak/soak.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "metrics/recorder.h"
#include "metrics/serialize.h"
#include "metrics/turn_means.h"
#include "metrics/write.h"
#include "plan/workers.h"
#include "run/machine.h"
#include "run/simulate.h"
#include "scenario/load.h"
#include "soak/scenario_generator.h"

namespace kvcap::soak {
namespace {

constexpr double kTimeout_s = 60;

// The variants in which a scenario is run: unchanged; repeated; with the next seed, if it has replications;
// at either fidelity with room for everything and turns at given times; its first session alone; its first
// session alone with the policy ideal.
enum class Way : uint8_t { plain, again, next_seed, by_request, by_layer, alone, ideal_alone };

struct Task {
  uint64_t number = 0;
  Way way = Way::plain;
};

struct Given {
  Scenario scenario;
  Workload workload;
};

// Gives turns times so far apart that the end of a turn does not delay a turn that may find its state: a turn
// of the same session, or any turn if sessions share texts or the GPU's cache.
void give_times(Workload& workload, bool shares_gpu) {
  workload.absolute_times = true;
  const bool in_turn = shares_gpu || workload.concurrency > 0 || !workload.piece_begin.empty() ||
                       std::any_of(workload.sessions.begin(), workload.sessions.end(),
                                   [](const Session& session) { return session.document != kOwnContext; });
  workload.concurrency = 0;
  double ended_s = 0;
  for (const Session& session : workload.sessions) {
    if (in_turn) workload.turns[session.first_turn].time_s = ended_s + 3600;
    double arrival_s = workload.turns[session.first_turn].time_s;
    for (uint32_t t = 1; t < session.turn_count; ++t) {
      arrival_s += 3600;
      workload.turns[session.first_turn + t].time_s = arrival_s;
    }
    ended_s = arrival_s;
  }
}

Given given(const Task& task) {
  Scenario scenario = parse_scenario(scenario_json(task.number), "soak", {});
  const PolicyOptions policy = scenario.policy;
  if (task.way == Way::next_seed) ++scenario.seed;
  // Variants that are compared must serve every turn.
  if (task.way != Way::plain && task.way != Way::again && task.way != Way::next_seed)
    scenario.workload.client_timeout_s.reset();
  if (task.way == Way::alone || task.way == Way::ideal_alone) {
    scenario.workload.sessions = 1;
    scenario.fleet = {};
    // A restoration computes outside steps and has no step overhead.
    scenario.serving.step_overhead_s = scenario.serving.step_overhead_per_sequence_s = 0;
  }
  if (task.way == Way::by_request || task.way == Way::by_layer) {
    scenario.fidelity = task.way == Way::by_layer ? Fidelity::layer : Fidelity::request;
    scenario.policy.unbounded = true;
    if (scenario.policy.tiers) {
      std::erase_if(*scenario.policy.tiers, [](const TierOptions& tier) { return tier.kind == Tier::hbm; });
    }
    scenario.policy.ttl_s.reset();
    scenario.fleet = {};
    scenario.serving.max_queued_turns.reset();
    scenario.serving.max_num_queued_reqs.reset();
    scenario.workload.warmup = Warmup::turns;  // times would decide which turns are warm-up
  }
  if (task.way == Way::ideal_alone) {
    const PolicyOptions given = with_preset(scenario.policy);
    // All policies except those that select keep a share of a history.
    const bool selects = given.restore == Restore::important;
    scenario.policy = {.name = "ideal",
                       .match = given.match,
                       .decoupled_positions = given.decoupled_positions,
                       .retention = selects ? std::nullopt : given.retention,
                       .chunk_tokens = given.chunk_tokens};
  }
  Workload workload = make_workload(scenario.workload, scenario.seed);
  vary(workload, policy, task.number);
  if (task.way == Way::alone || task.way == Way::ideal_alone) {
    // Removes what is not compared: branches, which may wait for another turn's step, and shares of shared
    // texts.
    workload.parents.clear();
    if (workload.sessions.front().document != kOwnContext) scenario.policy.retention.reset();
  }
  if (task.way == Way::by_request || task.way == Way::by_layer)
    give_times(workload, scenario.serving.prefix_caching);
  return {std::move(scenario), std::move(workload)};
}

// Runs a task in its own process.
std::string run(const Task& task) {
  const Given it = given(task);
  const RunResult result = simulate(it.scenario, it.workload, {.check_invariants = true});
  if (result_json(result).empty()) KVCAP_BUG("an empty file");
  requests_csv(result.turns, [](std::string_view piece) { KVCAP_CHECK(!piece.empty()); });
  return serialize(result);
}

// ---- laws of one run ----

bool any(const RunResult& result, bool (*has)(const TurnRecord&)) {
  return std::any_of(result.turns.begin(), result.turns.end(),
                     [has](const TurnRecord& turn) { return is_measured(turn) && has(turn); });
}

// True iff the metric may be null: there is nothing to average, or a price is not given.
bool may_be_null(const RunResult& result, std::string_view name) {
  if (name == "request_goodput" || name == "offered_load" || name == "warmup.detected_turns" ||
      name == "routing.imbalance" || name == "disaggregation.mean_transfer_ms")
    return true;
  for (std::string_view group : {"cost.", "energy.", "ssd_writes.", "kv_buffer.", "speculation."}) {
    if (name.starts_with(group)) return true;
  }
  if (!any(result, [](const TurnRecord&) { return true; })) return true;
  if (name.ends_with("_cold_ttft_ms")) return !any(result, [](const TurnRecord& turn) { return turn.cold; });
  if (name.ends_with("_warm_ttft_ms")) return !any(result, [](const TurnRecord& turn) { return !turn.cold; });
  if (name.ends_with("_tpot_ms") || name.ends_with("_itl_ms")) {
    return !any(result, [](const TurnRecord& turn) { return turn.output_tokens > 1; });
  }
  if (name.ends_with("_restore_ms"))
    return !any(result, [](const TurnRecord& turn) { return turn.restore_s > 0; });
  if (name.ends_with("_with_history_ms")) {
    return !any(result, [](const TurnRecord& turn) { return turn.history_tokens > 0; });
  }
  return false;
}

// ---- laws of several runs ----

std::string different(const RunResult& one, const RunResult& other, const std::string& metric) {
  const double a = one.number(metric), b = other.number(metric);
  if (a == b || (std::isnan(a) && std::isnan(b))) return "";
  return metric + ": " + std::to_string(a) + " by request, " + std::to_string(b) + " by layer";
}

// True iff both compute the same tokens, to a tile of rows per turn. Their steps may cut a prompt at
// different places, and the last rows of a slice may fill a GPU's waves differently; a found prefix uses
// attention kernels that may cost more than recomputing a few tokens.
bool computes_as_much(const RunResult& alone, const RunResult& ideal) {
  constexpr int64_t kTileRows = 128;
  const auto found = [](const RunResult& result) {
    int64_t tokens = 0;
    for (const TurnRecord& turn : result.turns) tokens += turn.hit_tokens;
    return tokens;
  };
  return found(ideal) - found(alone) <= kTileRows * static_cast<int64_t>(ideal.turns.size());
}

using Results = std::map<Way, RunResult>;

std::string broken_law_between(const Results& results) {
  const auto of = [&results](Way way) {
    const auto found = results.find(way);
    return found == results.end() ? nullptr : &found->second;
  };
  const RunResult* plain = of(Way::plain);
  if (const RunResult* again = of(Way::again); again && serialize(*again) != serialize(*plain)) {
    return "two runs differ";
  }
  if (const RunResult* next = of(Way::next_seed)) {
    const RunResult both = combine_replications({*plain, *next});
    if (both.metrics.size() != plain->metrics.size()) return "two replications have other metrics than one";
    for (const char* metric : {"completed", "duration", "token_hit_rate"}) {
      const double mean = (plain->number(metric) + next->number(metric)) / 2;
      if (std::abs(both.number(metric) - mean) > 1e-9 * mean)
        return std::string(metric) + " of two replications";
    }
  }
  const RunResult *by_request = of(Way::by_request), *by_layer = of(Way::by_layer);
  if (by_request && by_layer) {
    std::vector<std::string> metrics = {"completed", "rejected", "token_hit_rate"};
    for (const Metric& one : by_request->metrics) {
      if (one.name.starts_with("hit_tokens.")) metrics.push_back(one.name);
    }
    for (const std::string& metric : metrics) {
      if (std::string what = different(*by_request, *by_layer, metric); !what.empty()) return what;
    }
  }
  const RunResult *alone = of(Way::alone), *ideal = of(Way::ideal_alone);
  if (alone && ideal && alone->quality_note.empty() &&
      alone->number("rejected") == ideal->number("rejected")) {
    const double ttft_ms = alone->number("mean_ttft_ms"), least_ms = ideal->number("mean_ttft_ms");
    const double slack = computes_as_much(*alone, *ideal) ? 0.02 : 1e-6;
    if (ttft_ms < least_ms * (1 - slack) - 1e-6) {
      return "one session alone: mean TTFT " + std::to_string(ttft_ms) + " ms, ideal's " +
             std::to_string(least_ms);
    }
  }
  return "";
}

std::vector<Task> tasks_of(uint64_t first, uint64_t count) {
  std::vector<Task> tasks;
  for (uint64_t number = first; number < first + count; ++number) {
    tasks.push_back({number, Way::plain});
    tasks.push_back({number, Way::alone});
    tasks.push_back({number, Way::ideal_alone});
    if (number % 20 == 0) tasks.push_back({number, Way::again});
    if (number % 20 == 5) tasks.push_back({number, Way::next_seed});
    if (number % 5 == 3) {
      tasks.push_back({number, Way::by_request});
      tasks.push_back({number, Way::by_layer});
    }
  }
  return tasks;
}

constexpr std::string_view kWayNames[] = {
    "",           "once more: ",         "with the next seed: ",      "by request: ",
    "by layer: ", "one session alone: ", "one session alone, ideal: "};

}  // namespace

std::string broken_law(const RunResult& result) {
  for (const Metric& metric : result.metrics) {
    const auto* value = std::get_if<double>(&metric.value);
    if (!value) continue;
    const std::string said = metric.name + " is " + std::to_string(*value);
    if (std::isinf(*value)) return said;
    if (std::isnan(*value) && !may_be_null(result, metric.name)) return said;
    const bool is_rate = metric.name == "token_hit_rate" || metric.name == "request_hit_rate";
    if (is_rate && *value > 1) return said;
    // A restoration may take longer than recomputation.
    if (*value < -1e-6 && metric.name != "saved_gpu_hours") return said;
  }
  for (const auto& [name, values] : result.distributions) {
    if (!std::is_sorted(values.begin(), values.end(), [](double a, double b) { return a < b - 1e-9; })) {
      return "the quantiles of " + name + " fall";
    }
  }
  for (const Interval& interval : result.intervals) {
    if (std::isinf(interval.mean) || interval.half_width < 0) return "an interval of " + interval.name;
  }
  return "";
}

Tally soak(uint64_t first, uint64_t count, const std::function<void(const Finding&)>& on_finding,
           const std::function<void(const Finding&)>& on_refusal) {
  Tally tally;
  const std::vector<Task> tasks = tasks_of(first, count);
  std::map<uint64_t, std::size_t> open;  // unfinished tasks per scenario
  for (const Task& task : tasks) ++open[task.number];
  std::map<uint64_t, Results> results;
  std::map<uint64_t, Finding> findings;  // first finding per scenario
  const auto find = [&](uint64_t number, const std::string& what) {
    findings.try_emplace(number, Finding{number, what, ""});
  };
  const auto judge = [&](uint64_t number) {
    const Results of_scenario = std::move(results[number]);
    results.erase(number);
    for (const auto& [way, result] : of_scenario) {
      if (const std::string what = broken_law(result); !what.empty()) {
        find(number, std::string(kWayNames[static_cast<std::size_t>(way)]) + what);
      }
    }
    if (of_scenario.contains(Way::plain)) {
      ++tally.ran;
      tally.turns += std::ssize(of_scenario.at(Way::plain).turns);
      if (const std::string what = broken_law_between(of_scenario); !what.empty()) find(number, what);
    }
    const auto finding = findings.find(number);
    if (finding == findings.end()) return;
    ++tally.found;
    finding->second.scenario = scenario_json(number);
    on_finding(finding->second);
  };
  const auto ended = [&](const std::vector<JobOutcome>& outcomes) {
    for (const JobOutcome& outcome : outcomes) {
      const Task& task = tasks[outcome.job];
      const std::string how(kWayNames[static_cast<std::size_t>(task.way)]);
      if (outcome.end == JobEnd::done) {
        results[task.number].emplace(task.way, deserialize(outcome.text));
      } else if (outcome.end != JobEnd::bad_input) {
        find(task.number, how + outcome.text);
      } else if (task.way == Way::plain) {
        ++tally.refused;
        if (on_refusal) on_refusal({task.number, outcome.text, ""});
      }
      if (--open[task.number] == 0) judge(task.number);
    }
  };
  run_each_in_worker(tasks.size(), [&](std::size_t i, std::atomic<int64_t>&) { return run(tasks[i]); }, ended,
                     {.timeout_s = kTimeout_s, .label = "soaking"});
  return tally;
}

}  // namespace kvcap::soak
