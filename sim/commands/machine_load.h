// Collects the traffic and utilization of a machine's parts, for the diagram of the machine in a report.
#pragma once

#include <string>
#include <vector>

#include "base/text/json_values.h"
#include "metrics/result.h"

namespace kvcap {

// Returns {"scenario": {"hardware"}, "metrics"} for the runs of one setting: the metrics that the diagram
// shows, averaged over the runs and named as in a result; null without runs. `resolved`: the setting's
// resolved scenario as JSON.
Json machine_load(const std::string& resolved, const std::vector<RunResult>& runs);

}  // namespace kvcap
