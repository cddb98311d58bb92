// Simulates settings on plausible machines, drawn from the errors of the machine model
// (run/drawn_scenario.h). All settings share the same draws. Each run uses the seed of the scenario and, to
// save time, only part of its sessions.
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
// With more settings than this, machines are drawn only if --draws gives a number.
inline constexpr std::size_t kMostDrawnSettings = 16;

// Stands for --draws auto: kDefaultDraws machines or, if fewer, as many as simulate no more turns than the
// runs themselves. No machines if that is fewer than kLeastDraws, or if there are more than
// kMostDrawnSettings settings.
inline constexpr int64_t kAutoDraws = -1;
inline constexpr int64_t kLeastDraws = 8;
// Turns that --draws auto may always simulate. In the scenario chat, they take a second on two cores.
inline constexpr int64_t kFreeDrawTurns = 150'000;

struct DrawOptions {
  int64_t draws = kAutoDraws;
  // Largest number of turns of all runs together (about 3 s on two cores). If whole runs have more, each run
  // is shortened to a part of its sessions that still reaches the load of the whole run.
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

// Returns the number of draws for --draws auto.
int64_t affordable_draws(const std::vector<Scenario>& scenarios, const std::vector<RunResult>& results);

// Draws machines and fills model_intervals of `results`. Returns the rankings, the settings that are
// saturated on drawn machines, and the assumptions that the validation does not cover. `labels`: one per
// setting.
ModelReport model_report(const std::vector<std::string>& labels, const std::vector<Scenario>& scenarios,
                         std::vector<RunResult>& results, const DrawOptions& options = {});

// Returns the longest context of a run, in tokens.
int64_t longest_context(const RunResult& result);

}  // namespace kvcap
