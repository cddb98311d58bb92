#pragma once

#include <memory>

#include "calibration/backend.h"

namespace kvcap::calibration {

// Returns NCCL's all-reduce over the GPUs; null if there is one GPU or the program was built without NCCL.
std::unique_ptr<Collective> make_cuda_collective(int devices);

}  // namespace kvcap::calibration
