#include "plan/replicate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/memory.h"
#include "metrics/samples.h"
#include "metrics/serialize.h"
#include "metrics/trace_events.h"
#include "metrics/write.h"
#include "plan/sweep/sources.h"
#include "plan/workers.h"
#include "run/simulate.h"

namespace kvcap {

namespace {

constexpr double kBytesOfResult = 90'000;  // memory of a result with its curves

struct Run {
  std::size_t scenario = 0, replication = 0;
};

class Replications {
 public:
  Replications(const std::vector<Scenario>& scenarios, const ReplicationOptions& options)
      : scenarios_(scenarios), options_(options), grouped_(scenarios.size()) {
    int64_t runs = 0;
    for (const Scenario& scenario : scenarios) runs += scenario.replications;
    refuse_beyond_memory(scenarios.size() > 1 ? "replications of all settings" : "replications", runs,
                         kBytesOfResult);
    int64_t most = 0;
    for (std::size_t s = 0; s < scenarios.size(); ++s) {
      sources_.read(source_of(s));  // finds invalid rows before anything runs
      grouped_[s].resize(static_cast<std::size_t>(scenarios[s].replications));
      most = std::max(most, scenarios[s].replications);
    }
    // Orders runs seed by seed, so that after Ctrl-C all scenarios have finished about equally many seeds.
    for (std::size_t r = 0; r < static_cast<std::size_t>(most); ++r) {
      for (std::size_t s = 0; s < scenarios.size(); ++s) {
        if (r < grouped_[s].size()) runs_.push_back({s, r});
      }
    }
  }

  std::vector<std::vector<RunResult>> run() {
    try {
      for (std::vector<Run> round = runs_; !round.empty(); round = to_be_longer()) simulate_all(round);
    } catch (const Interrupted&) {
      const std::size_t seeds = finished_seeds();
      if (!options_.is_interrupted || seeds == 0) throw;
      *options_.is_interrupted = true;
      for (std::vector<RunResult>& one : grouped_) one.resize(seeds);
    }
    return std::move(grouped_);
  }

 private:
  // Returns the scenario with all sessions of its file, because a longer run may need them.
  Scenario source_of(std::size_t which) const {
    Scenario scenario = scenarios_[which];
    if (scenario.workload.run_length == RunLength::steady) scenario.workload.sessions.reset();
    return scenario;
  }

  Workload workload_of(const Run& run) const {
    Scenario scenario = source_of(run.scenario);
    scenario.seed += run.replication;
    return sources_.workload(scenario, options_of(run));
  }

  // Under the same seed, all settings of a comparison serve the same sessions, so the runs of a seed are
  // lengthened together.
  WorkloadOptions options_of(const Run& run) const {
    WorkloadOptions options = scenarios_[run.scenario].workload;
    const auto longer = sessions_.find(run.replication);
    if (longer != sessions_.end()) options.sessions = longer->second;
    return options;
  }

  void simulate_all(const std::vector<Run>& round) {
    WorkerOptions workers{.label = sessions_.empty() ? "simulating" : "simulating longer runs",
                          .name = [&](std::size_t job) { return name_of(round[job]); }};
    for (const Run& run : round) {
      workers.total_units += static_cast<int64_t>(workload_of(run).turns.size());
    }
    const FinishedRuns none("", false);
    const FinishedRuns& finished = options_.finished ? *options_.finished : none;
    workers.hint = finished.hint();
    if (options_.on_finished) {
      workers.on_done = [&](std::size_t job, const std::string& bytes) {
        options_.on_finished(round[job].scenario, round[job].replication, deserialize(bytes));
      };
    }
    std::vector<std::string> keys;
    for (const Run& run : round) keys.push_back(key_of(run, finished));
    const Job job = [&](std::size_t which, std::atomic<int64_t>& done_units) {
      return finished.get(keys[which], [&] { return serialize(simulate_one(round[which], done_units)); });
    };
    std::vector<std::string> results;
    try {
      results = run_in_workers(round.size(), job, workers, &results);
    } catch (const Interrupted&) {
      // If lengthened runs are interrupted, the shorter runs of the same seed stay, because they are complete
      // and serve other sessions.
      if (sessions_.empty()) keep(round, results);
      throw;
    }
    keep(round, results);
  }

  void keep(const std::vector<Run>& round, const std::vector<std::string>& results) {
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (results[i].empty()) continue;
      grouped_[round[i].scenario][round[i].replication] = deserialize(results[i]);
      finished_.insert({round[i].scenario, round[i].replication});
    }
  }

  // Returns the number of seeds, from the first on, that every scenario has finished.
  std::size_t finished_seeds() const {
    for (std::size_t seed = 0;; ++seed) {
      for (std::size_t s = 0; s < scenarios_.size(); ++s) {
        if (!finished_.contains({s, seed})) return seed;
      }
    }
  }

  std::string name_of(const Run& run) const {
    const Scenario& scenario = scenarios_[run.scenario];
    const std::string setting = scenarios_.size() > 1
                                    ? "setting " + std::to_string(run.scenario + 1) + " of " +
                                          std::to_string(scenarios_.size()) + ", policy "
                                    : "policy ";
    return "the simulation of " + scenario.name + " (" + setting + scenario.policy.name + ", seed " +
           std::to_string(scenario.seed + run.replication) + ")";
  }

  std::string key_of(const Run& run, const FinishedRuns& finished) const {
    const std::optional<int64_t> sessions = options_of(run).sessions;
    return finished.key_of(scenarios_[run.scenario]) + " " + std::to_string(run.replication) + " " +
           std::to_string(sessions.value_or(0)) + (options_.keep_turns ? " turns" : "");
  }

  RunResult simulate_one(const Run& run, std::atomic<int64_t>& done_units) const {
    Scenario scenario = scenarios_[run.scenario];
    scenario.seed += run.replication;
    const Workload workload = workload_of(run);
    SimulateHooks hooks{.finished_turns = &done_units, .check_invariants = options_.check_invariants};
    TraceEvents trace;
    const bool is_first = run.scenario == 0 && run.replication == 0;
    const bool traced = is_first && options_.timeline;
    if (traced) hooks.trace = &trace;
    RunResult result = simulate(scenario, workload, hooks);
    if (traced) {
      options_.timeline->clear();
      options_.timeline->append(trace.json(scenario.name, result.turns));
    }
    if (is_first && options_.requests) {
      options_.requests->clear();
      requests_csv(result.turns, [&](std::string_view piece) { options_.requests->append(piece); });
    }
    if (scenario.replications == 1) result.samples = samples_of_turns(result.turns);
    if (!options_.keep_turns || run.replication > 0) result.turns = {};
    return result;
  }

  // Returns the runs to repeat. If one run of a seed does not yet represent the steady state, all runs of
  // this seed are doubled, except saturated ones.
  std::vector<Run> to_be_longer() {
    std::vector<Run> round;
    std::map<std::size_t, int64_t> longer;
    for (const Run& run : runs_) {
      const RunResult& result = grouped_[run.scenario][run.replication];
      const bool wanted = scenarios_[run.scenario].workload.run_length == RunLength::steady;
      if (wanted && !tells_the_long_run(result) && 2 * result.turn_count <= kMostTurns) {
        longer[run.replication] = std::max(longer[run.replication], 2 * result.session_count);
      }
    }
    for (const auto& [replication, sessions] : longer) sessions_[replication] = sessions;
    for (const Run& run : runs_) {
      const RunResult& result = grouped_[run.scenario][run.replication];
      if (longer.contains(run.replication) && result.number("stable") != 0) round.push_back(run);
    }
    return round;
  }

  const std::vector<Scenario>& scenarios_;
  const ReplicationOptions& options_;
  Sources sources_;
  std::vector<Run> runs_;
  std::map<std::size_t, int64_t> sessions_;  // sessions of lengthened runs; key: replication
  std::vector<std::vector<RunResult>> grouped_;
  std::set<std::pair<std::size_t, std::size_t>> finished_;  // scenario and replication
};

}  // namespace

bool tells_the_long_run(const RunResult& result) {
  const double stable = result.number("stable");
  if (std::isnan(stable)) return false;
  if (stable == 0) return true;
  return result.number("rates.steady") != 0 && !std::isnan(result.number("warmup.detected_turns"));
}

Scenario in_steady_state(Scenario scenario) {
  scenario.workload.warmup = Warmup::steady;
  scenario.workload.warmup_turns = 0;
  scenario.workload.rates_over = RatesOver::automatic;
  return scenario;
}

std::vector<std::vector<RunResult>> run_replications(const std::vector<Scenario>& scenarios,
                                                     const ReplicationOptions& options) {
  return Replications(scenarios, options).run();
}

}  // namespace kvcap
