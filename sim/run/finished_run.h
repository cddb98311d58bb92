// Checks invariants of a finished run: no turn is lost or duplicated, the parts of a turn's time do not
// exceed the whole, Little's law holds, the bytes read agree with the hits, and no tier or resource exceeds
// its capacity.
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
