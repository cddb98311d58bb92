// Writes model intervals and rankings: how far an answer depends on how well the machine is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/model_report.h"
#include "metrics/result.h"

namespace kvcap {

// Returns a table of model intervals, the share of machines on which the setting with the least mean TTFT
// beats each other setting, and what is outside the validated range unless the text is brief. "" without
// draws. A setting that does not serve the load, or in too short a run, is not compared.
std::string model_text(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                       const ModelReport& report, bool is_brief = false);

// Returns "97 % of 32 plausible machines", or that all or none of them agree.
std::string machines_text(double share, int64_t draws);

}  // namespace kvcap
