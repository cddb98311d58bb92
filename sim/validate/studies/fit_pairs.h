// Validates fits on held-out workloads: for each model of the vllm-h100 runs, fits the parameters to one
// workload (sim/fit) and predicts the other workload, and vice versa.
#pragma once

#include <string>
#include <vector>

#include "fit/fit_run.h"
#include "validate/check.h"
#include "validate/suites.h"

namespace kvcap {

// Returns the runs of vLLM 0.15.1 on H100s: two consecutive workloads per model for four models, with the
// unfitted profile. Empty if the data are missing.
std::vector<FitRun> vllm_h100_fit_runs(const std::string& data);

// Returns the checks. If `options.quick` is set, uses only the first model and promises no accuracy.
std::vector<Check> fit_checks(const SuiteOptions& options);

}  // namespace kvcap
