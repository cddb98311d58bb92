// What flows through a machine and how busy its parts are, for the picture of an answer.
#pragma once

#include <string>
#include <vector>

#include "base/text/json_values.h"
#include "metrics/result.h"

namespace kvcap {

// Returns {"scenario": {"hardware"}, "metrics"} of runs of one setting: the means of the metrics that the
// picture shows, under the same names as in a result; null without runs. `resolved`: the setting's resolved
// scenario.
Json machine_load(const std::string& resolved, const std::vector<RunResult>& runs);

}  // namespace kvcap
