// Writes model intervals and rankings, which show how much an answer depends on the uncertainty of the
// machine model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/model_report.h"
#include "metrics/result.h"

namespace kvcap {

// Returns a table of model intervals; the share of machines on which the setting with the lowest mean TTFT
// beats each other setting; and, unless the text is brief, what is outside the validated range. Returns ""
// without draws. The ranking leaves out settings that do not serve the load, or whose run is too short to
// tell.
std::string model_text(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                       const ModelReport& report, bool is_brief = false);

// Returns "97 % of 32 plausible machines", or that all or none of them agree.
std::string machines_text(double share, int64_t draws);

}  // namespace kvcap
