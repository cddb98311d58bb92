// simulate: builds every part of a machine from a Scenario, runs the clock until the last session has ended,
// and returns the record of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "metrics/result.h"
#include "metrics/trace_events.h"
#include "scenario/scenario.h"
#include "serving/restorer.h"
#include "workload/workload.h"

namespace kvcap {

struct SimulateHooks {
  std::atomic<int64_t>* finished_turns = nullptr;                   // counted up for a progress bar
  bool check_invariants = false;                                    // after every event, and at the end
  std::function<void(const RestoreActivity&)> on_restore_activity;  // fidelity layer only
  TraceEvents* trace = nullptr;                                     // of what the machine does
};

// REQUIRES: the first call in this process (SimGrid has one engine a process). Throws InputError when the
// scenario cannot run at all, e.g. because the model does not fit the GPUs, or would run for centuries.
RunResult simulate(const Scenario& scenario, const Workload& workload, const SimulateHooks& hooks = {});

}  // namespace kvcap
