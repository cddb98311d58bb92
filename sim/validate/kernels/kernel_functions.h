// Computes the cost model's times of single kernel calls, which studies compare with measured times.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "spec/hardware_profile.h"

namespace kvcap {

using KernelCall = std::map<std::string, double>;  // the numbers of one measured call, by name

// Returns the modelled seconds of a call. Returns NaN if the call is itself a measured point of the profile,
// so that no point is compared with itself, and for collectives if the profile has none.
using KernelSeconds = std::function<double(const KernelCall& call)>;

// Returns the model of a kernel. The table in kernel_functions.cpp lists the kernels and the numbers that
// their calls need. Throws InputError for an unknown kernel; the message does not name the file, which
// callers add.
KernelSeconds kernel_seconds(const std::string& kernel, const HardwareProfile& hardware);

}  // namespace kvcap
