// Compares measured GEMMs, expert layers and collectives with the shipped profiles. Rows that a profile was
// fitted to form a separate set and are not tests. See measured.h for `data`.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"
#include "validate/kernels/kernel_times.h"

namespace kvcap {

// Returns the median and 90th percentile of the relative errors of GEMMs by number format (all held-out rows;
// those below 64 rows, where weights are streamed; those above), of mixtures of experts on held-out shapes,
// and of collectives at sizes that no profile contains.
std::vector<Check> gemm_checks(const std::string& data);

// Returns the rows of these checks. REQUIRES: the files exist.
std::vector<KernelTime> gemm_kernel_times(const std::string& data);

}  // namespace kvcap
