// GEMMs, experts' layers and collectives as they were measured, beside what the shipped profiles give. Rows
// that a profile was fitted to are a set of their own and no test. See measured.h for `data`.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"
#include "validate/kernels/kernel_times.h"

namespace kvcap {

// Relative errors, in the median and at the 90th percentile, of GEMMs by number format (all rows that were
// not fitted; of them below 64 rows, where weights are streamed, and above) and of mixtures of experts, on
// shapes that were not fitted; and of collectives at sizes that no profile holds.
std::vector<Check> gemm_checks(const std::string& data);

// The rows behind them. REQUIRES: the files are there.
std::vector<KernelTime> gemm_kernel_times(const std::string& data);

}  // namespace kvcap
