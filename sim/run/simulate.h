// simulate() builds the simulated machines of a Scenario, runs them until the last session has ended, and
// returns the recorded results.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "engine/restorer.h"
#include "metrics/result.h"
#include "metrics/trace_events.h"
#include "scenario/scenario.h"
#include "workload/workload.h"

namespace kvcap {

struct SimulateHooks {
  std::atomic<int64_t>* finished_turns = nullptr;                   // progress counter
  bool check_invariants = false;                                    // check after every event and at the end
  std::function<void(const RestoreActivity&)> on_restore_activity;  // fidelity layer only
  TraceEvents* trace = nullptr;                                     // timeline of the machine's activities
};

// REQUIRES: this is the first call in the process (SimGrid allows one engine per process). Throws InputError
// if the scenario cannot run, e.g. because the model does not fit the GPUs, or if it would simulate
// centuries.
RunResult simulate(const Scenario& scenario, const Workload& workload, const SimulateHooks& hooks = {});

}  // namespace kvcap
