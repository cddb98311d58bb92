// Replications: the same scenario under seeds seed, seed + 1, ..., several scenarios at once.
#pragma once

#include <vector>

#include "base/files.h"
#include "metrics/result.h"
#include "scenario/scenario.h"

namespace kvcap {

struct ReplicationOptions {
  bool check_invariants = false;
  NewFile* timeline = nullptr;  // gets the timeline of the first run
  NewFile* requests = nullptr;  // gets requests.csv of the first run
  bool keep_turns = false;      // in the result of each scenario's first run
};

// runs[s][r] is scenario s under its seed + r. Throws as run_in_workers does.
std::vector<std::vector<RunResult>> run_replications(const std::vector<Scenario>& scenarios,
                                                     const ReplicationOptions& options = {});

}  // namespace kvcap
