// Replications: runs scenarios concurrently, each under several seeds (its own seed, seed + 1, ...). With
// workload.run_length "steady", a run is repeated with twice the sessions until it represents the steady
// state.
#pragma once

#include <functional>
#include <vector>

#include "base/files.h"
#include "metrics/result.h"
#include "plan/sweep/finished_runs.h"
#include "scenario/scenario.h"

namespace kvcap {

struct ReplicationOptions {
  bool check_invariants = false;
  NewFile* timeline = nullptr;  // timeline of the first run
  NewFile* requests = nullptr;  // requests.csv of the first run
  bool keep_turns = false;      // keeps turns in the result of each scenario's first run
  const FinishedRuns* finished = nullptr;
  // If not null: Ctrl-C does not throw if every scenario has finished its first seed. The result then
  // contains the seeds that all scenarios have finished, and *is_interrupted becomes true. If Ctrl-C comes
  // while runs are lengthened, the result contains the shorter runs.
  bool* is_interrupted = nullptr;
  // Called when a run ends, and again when a longer run of the same seed ends.
  std::function<void(std::size_t scenario, std::size_t replication, const RunResult&)> on_finished = nullptr;
};

// The largest number of turns to which a run is lengthened (about 15 s of simulation). Searches, which make
// hundreds of runs, have a smaller limit.
inline constexpr int64_t kMostTurns = 1 << 20;
inline constexpr int64_t kMostSearchedTurns = kMostTurns / 4;

// True iff the run is saturated, or stable with a steady window (metrics/statistics/stability.h) and settled
// TTFTs (metrics/statistics/warmup.h).
bool tells_the_long_run(const RunResult& result);

// Returns the scenario, changed so that its metrics cover the steady window of the run. With a trace, rates
// still cover the whole run.
Scenario in_steady_state(Scenario scenario);

// Returns runs[s][r]: scenario s under its seed + r. Throws as run_in_workers does.
std::vector<std::vector<RunResult>> run_replications(const std::vector<Scenario>& scenarios,
                                                     const ReplicationOptions& options = {});

}  // namespace kvcap
