// Formats model intervals and rankings, which show how much an answer depends on the uncertainty of the
// machine model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/model_report.h"
#include "metrics/result.h"

namespace kvcap {

// Returns a table of model intervals; then the share of the drawn machines on which the setting with the
// lowest mean TTFT beats each other setting; then, unless `is_brief`, the assumptions outside the validated
// range. Returns "" if no machines were drawn. The ranking leaves out settings that do not serve the load, or
// whose run is too short to tell.
std::string model_text(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                       const ModelReport& report, bool is_brief = false);

// Returns "97 % of 32 plausible machines", "all 32 plausible machines" or "none of 32 plausible machines".
std::string machines_text(double share, int64_t draws);

}  // namespace kvcap
