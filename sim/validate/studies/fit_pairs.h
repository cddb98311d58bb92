// Whether a fit holds on a workload that it has not seen: of each model of the vllm-h100 runs one workload is
// fitted to (sim/fit), and the other one predicted, both ways.
#pragma once

#include <string>
#include <vector>

#include "fit/fit_run.h"
#include "validate/check.h"
#include "validate/suites.h"

namespace kvcap {

// The runs of vLLM 0.15.1 on H100s: two workloads of each of four models, one after the other, on the profile
// as it is. Empty where the data are not there.
std::vector<FitRun> vllm_h100_fit_runs(const std::string& data);

// `quick`: of the first model alone, and no promise.
std::vector<Check> fit_checks(const SuiteOptions& options);

}  // namespace kvcap
