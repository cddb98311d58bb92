// Compares measured kernels of latent attention (MLA) with the shipped profiles. No profile is fitted to any
// of these rows. See measured.h for `data`.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

// Returns the median and 90th percentile of the relative errors, by GPU and kind of call.
std::vector<Check> mla_checks(const std::string& data);

}  // namespace kvcap
