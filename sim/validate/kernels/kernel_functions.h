// Models the kernels whose measured times studies compare with the cost model.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "spec/hardware_profile.h"

namespace kvcap {

using KernelCall = std::map<std::string, double>;  // the numbers of one measured call, by name

// Returns the modelled seconds of a call. NaN for a call that is itself a point of the profile, and for
// collectives of a profile that has none.
using KernelSeconds = std::function<double(const KernelCall& call)>;

// Returns the model of a kernel. The table in kernel_functions.cpp lists the kernels and the numbers that
// their calls need. Throws InputError, without a place, for an unknown kernel.
KernelSeconds kernel_seconds(const std::string& kernel, const HardwareProfile& hardware);

}  // namespace kvcap
