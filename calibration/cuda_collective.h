#pragma once

#include <memory>

#include "calibration/backend.h"

namespace kvcap::calibration {

// Null with one device, or where the program was built without NCCL.
std::unique_ptr<Collective> make_cuda_collective(int devices);

}  // namespace kvcap::calibration
