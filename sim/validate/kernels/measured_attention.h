// Compares measured attention kernels with the shipped profiles, by regime. Rows that a profile was fitted to
// form a separate set and are not tests. See measured.h for `data`.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"
#include "validate/kernels/kernel_times.h"

namespace kvcap {

// Returns the median and 90th percentile of the relative errors of prefills (whole prompts, batches of short
// prompts, cached prefixes) and of decodes (below and above 256 MB of keys and values, and in L2).
std::vector<Check> attention_checks(const std::string& data);

// Returns the rows of these checks, and those of other programs on the same GPUs. REQUIRES: the files exist.
std::vector<KernelTime> attention_kernel_times(const std::string& data);

}  // namespace kvcap
