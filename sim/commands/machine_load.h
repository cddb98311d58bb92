// Collects the traffic and utilization of a machine's GPUs, links and tiers for the machine diagram of a
// report.
#pragma once

#include <string>
#include <vector>

#include "base/text/json_values.h"
#include "metrics/result.h"

namespace kvcap {

// Returns {"scenario": {"hardware"}, "metrics"} for the runs of one setting; null without runs. "metrics"
// contains the metrics that the diagram shows, averaged over the runs and named as in a result. `resolved`:
// the setting's resolved scenario as JSON.
Json machine_load(const std::string& resolved, const std::vector<RunResult>& runs);

}  // namespace kvcap
