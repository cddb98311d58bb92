// Which numbers of GPUs the tensors of a model can be divided among.
#pragma once

#include <cstdint>
#include <string>

#include "scenario/scenario.h"

namespace kvcap {

// Returns what an engine allows as tensor_parallel_size, "a divisor of ...", if it cannot divide the model's
// heads, or the blocks of its weights that share a scale, among `size` GPUs; empty if it can.
std::string allowed_division(const Scenario& scenario, int64_t size);

}  // namespace kvcap
