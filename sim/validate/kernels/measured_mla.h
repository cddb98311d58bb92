// Latent attention (MLA) kernels as they were measured, beside what the shipped profiles give: nothing is
// fitted to any of these rows. See measured.h for `data`.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

// Relative errors, in the median and at the 90th percentile, by GPU and kind of call.
std::vector<Check> mla_checks(const std::string& data);

}  // namespace kvcap
