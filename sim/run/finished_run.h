// What is true of every finished run, whatever ran: turns conserved, parts of times within the whole,
// Little's law, bytes read that are those of what was found, nothing fuller than full or busier than always.
#pragma once

#include "metrics/result.h"
#include "run/machine.h"
#include "scenario/scenario.h"
#include "workload/workload.h"

namespace kvcap {

// Aborts when one of them is broken, which is our bug.
void check_finished_run(const Scenario& scenario, const Workload& workload, const Machine& machine,
                        const RunResult& result);

}  // namespace kvcap
