// Attention kernels as they were measured, beside what the shipped profiles give. Rows that a profile was
// fitted to are a set of their own and no test; all others are judged, by regime. See measured.h for `data`.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"
#include "validate/kernels/kernel_times.h"

namespace kvcap {

// Relative errors, in the median and at the 90th percentile, of prefills (whole prompts, short prompts in one
// batch, over a cached prefix) and of decodes (below and above 256 MB of keys and values, and in L2).
std::vector<Check> attention_checks(const std::string& data);

// The rows behind them, and those of other programs on the same GPUs. REQUIRES: the files are there.
std::vector<KernelTime> attention_kernel_times(const std::string& data);

}  // namespace kvcap
