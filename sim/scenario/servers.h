// Finds the profile of a server that has enough GPUs of one kind.
#pragma once

#include <cstdint>
#include <string>

#include "spec/hardware_profile.h"

namespace kvcap {

// Returns the name of a profile with enough such GPUs: h100-sxm-8x for 2 of h100-sxm; else the profile
// itself.
std::string server_of(const HardwareProfile& profile, const std::string& name, int64_t gpus);

}  // namespace kvcap
