// What was measured on real machines, beside what the shipped profiles and a whole simulated run give. The
// measurements are no part of this project: they are read from a folder beside it, and without it nothing is
// compared.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

// GEMM and attention times of `folder`/hardware/*.csv against the cost model with the profiles' coefficients:
// relative errors in the median and at the 90th percentile.
std::vector<Check> kernel_checks(const std::string& folder);

}  // namespace kvcap
