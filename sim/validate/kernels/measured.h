// Compares kernel times measured on real machines with the shipped profiles. The measurements are not part of
// this project: they are read from a data folder, and without it nothing is compared.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

// Returns checks of the GEMM and attention times of `folder`/hardware/*.csv against the cost model with the
// profiles' coefficients: median and 90th percentile of relative errors.
std::vector<Check> kernel_checks(const std::string& folder);

}  // namespace kvcap
