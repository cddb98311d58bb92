// Invariants of every finished run: conserved turns, parts of times within the whole, Little's law, bytes
// read equal to those found, and no tier or resource above its capacity.
#pragma once

#include "metrics/result.h"
#include "run/machine.h"
#include "scenario/scenario.h"
#include "workload/workload.h"

namespace kvcap {

// Aborts if an invariant is broken, which is an internal error.
void check_finished_run(const Scenario& scenario, const Workload& workload, const Machine& machine,
                        const RunResult& result);

}  // namespace kvcap
