// Settings on plausible machines (run/drawn_scenario.h): a few dozen draws, the same for all settings, under
// the seed of the scenario and on a part of its sessions, so that a comparison stays a matter of seconds.
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
// More settings than that are a search and no comparison; draws have to be asked for.
inline constexpr std::size_t kMostDrawnSettings = 16;

struct DrawOptions {
  int64_t draws = kDefaultDraws;
  // All runs together; beyond, each has a part of its sessions, but as many as it takes to come to the load
  // of the whole run. About 3 s of two cores.
  int64_t most_turns = 250'000;
};

struct ModelDraws {
  int64_t draws = 0;
  int64_t sessions = 0;  // of the shortest run
  bool is_shortened = false;
  std::vector<RunResult> nominal;             // of each scenario, on the machine as its profile has it
  std::vector<std::vector<RunResult>> drawn;  // [scenario][draw]; without turns where it cannot run
};

// `results`: of the same scenarios, for the length of their runs.
ModelDraws draw_machines(const std::vector<Scenario>& scenarios, const std::vector<RunResult>& results,
                         const DrawOptions& options = {});

// Fills model_intervals of `results` and says the rest. `labels`: of the settings.
ModelReport model_report(const std::vector<std::string>& labels, const std::vector<Scenario>& scenarios,
                         std::vector<RunResult>& results, const DrawOptions& options = {});

// The longest context that occurs in a run.
int64_t longest_context(const RunResult& result);

}  // namespace kvcap
