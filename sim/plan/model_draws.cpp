#include "plan/model_draws.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/input_error.h"
#include "metrics/serialize.h"
#include "plan/sweep/sources.h"
#include "plan/workers.h"
#include "run/drawn_scenario.h"
#include "run/simulate.h"

namespace kvcap {
namespace {

constexpr int64_t kLeastDrawSessions = 50;  // fewer sessions are not representative
// A shortened run must still reach the load of the whole run. So it covers at least kTimesToSteady times the
// time before the steady window and, in a closed loop, kTimesToSteady times the active sessions; but at most
// kMostBeyond times the share that DrawOptions::most_turns allows.
constexpr double kTimesToSteady = 3;
constexpr double kMostBeyond = 8;

struct Lengths {
  std::vector<int64_t> sessions;  // sessions per scenario
  int64_t turns = 0;              // turns of all runs together, for the progress bar
  bool is_shortened = false;
};

// Returns the share of its sessions that a shortened run needs to reach the load of the whole run.
double telling_share(const Scenario& scenario, const RunResult& result) {
  const double sessions = std::max(1.0, static_cast<double>(result.session_count));
  const double at_once = static_cast<double>(scenario.workload.arrivals.concurrency.value_or(0));
  const double to_s = result.number("rates.to_s");
  const bool is_steady = result.number("rates.steady") == 1 && to_s > 0;
  return kTimesToSteady * std::max(at_once / sessions, is_steady ? result.number("rates.from_s") / to_s : 0);
}

Lengths lengths_of(const std::vector<Scenario>& scenarios, const std::vector<RunResult>& results,
                   const DrawOptions& options) {
  double turns = 0;
  for (const RunResult& result : results) turns += static_cast<double>(result.turn_count);
  const double wanted = turns * static_cast<double>(options.draws + 1);
  const double share = static_cast<double>(options.most_turns) / std::max(wanted, 1.0);
  Lengths lengths;
  for (std::size_t s = 0; s < results.size(); ++s) {
    const RunResult& result = results[s];
    const int64_t all = std::max<int64_t>(1, result.session_count);
    const double telling = std::min(telling_share(scenarios[s], result), kMostBeyond * share);
    const double part = std::min(1.0, std::max(share, telling)) * static_cast<double>(all);
    lengths.sessions.push_back(
        std::min(all, std::max(kLeastDrawSessions, static_cast<int64_t>(std::ceil(part)))));
    lengths.is_shortened = lengths.is_shortened || lengths.sessions.back() < all;
    lengths.turns += (options.draws + 1) * result.turn_count * lengths.sessions.back() / all;
  }
  return lengths;
}

// Returns the scenario with all sessions of its trace file, because a run that was lengthened to the steady
// state may have used more than workload.sessions.
Scenario source_of(Scenario scenario) {
  if (scenario.workload.run_length == RunLength::steady) scenario.workload.sessions.reset();
  return scenario;
}

}  // namespace

int64_t affordable_draws(const std::vector<Scenario>& scenarios, const std::vector<RunResult>& results) {
  if (scenarios.size() > kMostDrawnSettings) return 0;
  int64_t turns = 0;
  for (const RunResult& result : results) turns += result.turn_count;
  const int64_t budget = std::max(turns, kFreeDrawTurns);
  const Lengths lengths = lengths_of(scenarios, results, {.draws = kDefaultDraws, .most_turns = budget});
  if (lengths.turns <= budget) return kDefaultDraws;
  const int64_t draws = (kDefaultDraws + 1) * budget / lengths.turns - 1;
  return draws < kLeastDraws ? 0 : draws;
}

ModelDraws draw_machines(const std::vector<Scenario>& scenarios, const std::vector<RunResult>& results,
                         const DrawOptions& options) {
  KVCAP_CHECK(scenarios.size() == results.size() && options.draws > 0);
  const Lengths lengths = lengths_of(scenarios, results, options);
  Sources sources;
  for (const Scenario& scenario : scenarios) sources.read(source_of(scenario));
  const auto runs = static_cast<std::size_t>(options.draws) + 1;  // runs per scenario; the first is nominal
  const std::vector<std::string> messages = run_in_workers(
      scenarios.size() * runs,
      [&](std::size_t job, std::atomic<int64_t>& done_turns) {
        const Scenario& scenario = scenarios[job / runs];
        const auto draw = static_cast<int64_t>(job % runs) - 1;
        WorkloadOptions workload = scenario.workload;
        workload.sessions = lengths.sessions[job / runs];
        try {
          const Scenario machine = draw < 0 ? scenario : drawn_scenario(scenario, draw);
          RunResult result = without_curves(simulate(machine, sources.workload(source_of(scenario), workload),
                                                     {.finished_turns = &done_turns}));
          result.scenario_json.clear();
          return serialize(result);
        } catch (const InputError&) {
          return serialize(RunResult{});
        }
      },
      {.total_units = lengths.turns, .label = "drawing machines", .name = [&](std::size_t job) {
         return "the simulation of " + scenarios[job / runs].name + " on drawn machine " +
                std::to_string(job % runs) + ", seed " + std::to_string(scenarios[job / runs].seed);
       }});
  ModelDraws draws{.draws = options.draws,
                   .sessions = *std::min_element(lengths.sessions.begin(), lengths.sessions.end()),
                   .is_shortened = lengths.is_shortened,
                   .nominal = {},
                   .drawn = {}};
  for (std::size_t s = 0; s < scenarios.size(); ++s) {
    draws.nominal.push_back(deserialize(messages[s * runs]));
    std::vector<RunResult>& drawn = draws.drawn.emplace_back();
    for (std::size_t d = 1; d < runs; ++d) drawn.push_back(deserialize(messages[s * runs + d]));
  }
  return draws;
}

ModelReport model_report(const std::vector<std::string>& labels, const std::vector<Scenario>& scenarios,
                         std::vector<RunResult>& results, const DrawOptions& options) {
  const bool is_auto = options.draws == kAutoDraws;
  const int64_t count = is_auto ? affordable_draws(scenarios, results) : options.draws;
  if (count == 0) return {.is_too_long = is_auto, .rankings = {}, .saturated = {}, .outside = {}};
  const ModelDraws draws =
      draw_machines(scenarios, results, {.draws = count, .most_turns = options.most_turns});
  ModelReport report{.draws = draws.draws,
                     .sessions = draws.sessions,
                     .is_shortened = draws.is_shortened,
                     .rankings = rankings(labels, results, draws.nominal, draws.drawn),
                     .saturated = {},
                     .outside = {}};
  int64_t longest = 0;
  for (std::size_t s = 0; s < scenarios.size(); ++s) {
    results[s].model_intervals = model_intervals(results[s], draws.nominal[s], draws.drawn[s]);
    const auto saturated =
        std::count_if(draws.drawn[s].begin(), draws.drawn[s].end(),
                      [](const RunResult& one) { return one.turn_count == 0 || one.number("stable") == 0; });
    if (saturated > 0) report.saturated.emplace_back(labels[s], saturated);
    longest = std::max(longest, longest_context(results[s]));
  }
  report.outside = outside_validation(scenarios, longest);
  if (std::string reversed = reversed_ranking(labels, results, draws.nominal, draws.sessions);
      draws.is_shortened && !reversed.empty()) {
    report.outside.push_back(std::move(reversed));
  }
  return report;
}

int64_t longest_context(const RunResult& result) {
  return result.by_history.empty() ? 0 : result.by_history.back().max_tokens;
}

}  // namespace kvcap
