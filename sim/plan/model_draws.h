// Simulates settings on plausible machines (run/drawn_scenario.h). All settings share the same draws; each
// run uses the scenario's seed and only part of its sessions, so that a comparison takes seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/model_report.h"
#include "metrics/result.h"
#include "scenario/scenario.h"

namespace kvcap {

inline constexpr int64_t kDefaultDraws = 32;
inline constexpr int kMostDraws = 1000;
// With more settings than this, machines are drawn only on request.
inline constexpr std::size_t kMostDrawnSettings = 16;

// The draws of --draws auto: kDefaultDraws, or as many as need no more turns than the runs themselves; none
// if that is fewer than kLeastDraws, or if there are more than kMostDrawnSettings settings.
inline constexpr int64_t kAutoDraws = -1;
inline constexpr int64_t kLeastDraws = 8;
// Turns that --draws auto may always simulate; for the scenario chat they take a second on two cores.
inline constexpr int64_t kFreeDrawTurns = 150'000;

struct DrawOptions {
  int64_t draws = kAutoDraws;
  // Most turns of all runs together (about 3 s on two cores). Beyond this limit, each run is shortened to a
  // part of its sessions that still reaches the load of the whole run.
  int64_t most_turns = 250'000;
};

struct ModelDraws {
  int64_t draws = 0;
  int64_t sessions = 0;  // sessions of the shortest run
  bool is_shortened = false;
  std::vector<RunResult> nominal;             // [scenario], on the machine of its profile
  std::vector<std::vector<RunResult>> drawn;  // [scenario][draw]; without turns if the draw cannot run
};

// Runs each scenario on the nominal machine and on every drawn one. `results`: earlier results of the same
// scenarios, from which the lengths of the runs are derived.
ModelDraws draw_machines(const std::vector<Scenario>& scenarios, const std::vector<RunResult>& results,
                         const DrawOptions& options = {});

// Returns the draws of --draws auto.
int64_t affordable_draws(const std::vector<Scenario>& scenarios, const std::vector<RunResult>& results);

// Fills model_intervals of `results`. Returns rankings, saturated settings and what the validation does not
// cover. `labels`: one per setting.
ModelReport model_report(const std::vector<std::string>& labels, const std::vector<Scenario>& scenarios,
                         std::vector<RunResult>& results, const DrawOptions& options = {});

// Returns the longest context of a run, in tokens.
int64_t longest_context(const RunResult& result);

}  // namespace kvcap
