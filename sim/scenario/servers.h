// Finds the profile of a server that has enough GPUs of one kind.
#pragma once

#include <cstdint>
#include <string>

#include "spec/hardware_profile.h"

namespace kvcap {

// Returns `name` if `profile` has at least `gpus` GPUs; else the name of a catalogue profile with enough GPUs
// of this kind (h100-sxm-8x for 2 GPUs of h100-sxm), or `name` if there is none.
std::string server_of(const HardwareProfile& profile, const std::string& name, int64_t gpus);

}  // namespace kvcap
