// Kernels whose measured times studies compare with the cost model.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "spec/hardware_profile.h"

namespace kvcap {

using KernelCall = std::map<std::string, double>;  // the numbers of one measured call, by name

// Returns the modelled seconds of a call; NaN for calls that the profile holds as points of its own.
using KernelSeconds = std::function<double(const KernelCall& call)>;

// `kernel`: a row of the table in kernel_functions.cpp, which lists the numbers that its calls need. Throws
// InputError, without a place, for an unknown kernel.
KernelSeconds kernel_seconds(const std::string& kernel, const HardwareProfile& hardware);

}  // namespace kvcap
