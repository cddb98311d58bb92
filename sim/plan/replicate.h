// Replications: the same scenario under seeds seed, seed + 1, ..., several scenarios at once.
#pragma once

#include <vector>

#include "metrics/result.h"
#include "scenario/scenario.h"

namespace kvcap {

// runs[s][r] is scenario s under its seed + r. Throws as run_in_workers does.
std::vector<std::vector<RunResult>> run_replications(const std::vector<Scenario>& scenarios,
                                                     bool check_invariants);

}  // namespace kvcap
