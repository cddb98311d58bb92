// Replications: the same scenario under seeds seed, seed + 1, ..., several scenarios at once. With
// workload.run_length "steady" a run is repeated with twice as many sessions until it tells the long run.
#pragma once

#include <vector>

#include "base/files.h"
#include "metrics/result.h"
#include "plan/sweep/finished_runs.h"
#include "scenario/scenario.h"

namespace kvcap {

struct ReplicationOptions {
  bool check_invariants = false;
  NewFile* timeline = nullptr;  // gets the timeline of the first run
  NewFile* requests = nullptr;  // gets requests.csv of the first run
  bool keep_turns = false;      // in the result of each scenario's first run
  const FinishedRuns* finished = nullptr;
};

// A run is made longer up to so many turns, about 15 s of simulation; one of a search, which makes hundreds,
// up to fewer.
inline constexpr int64_t kMostTurns = 1 << 20;
inline constexpr int64_t kMostSearchedTurns = kMostTurns / 4;

// Saturated, or stable with a steady window (metrics/statistics/stability.h) and TTFTs that have settled
// (metrics/statistics/warmup.h).
bool tells_the_long_run(const RunResult& result);

// The same, measured over its steady window, whatever it says itself; a trace's rates are those of the run.
Scenario in_steady_state(Scenario scenario);

// runs[s][r] is scenario s under its seed + r. Throws as run_in_workers does.
std::vector<std::vector<RunResult>> run_replications(const std::vector<Scenario>& scenarios,
                                                     const ReplicationOptions& options = {});

}  // namespace kvcap
