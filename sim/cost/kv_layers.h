// The state that a model's layers keep of a sequence on one GPU of a tensor-parallel group, and the layout of
// the pool's blocks that follows (spec/kv_groups.h).
#pragma once

#include <cstdint>
#include <vector>

#include "spec/kv_groups.h"
#include "spec/model_spec.h"

namespace kvcap {

// Returns one entry per layer group of the model. KV heads are replicated if they are fewer than the GPUs,
// and latents always; states of recurrent layers are divided by heads.
std::vector<KvLayers> kv_layers(const ModelSpec& model, int64_t tensor_parallel_size);

// Returns the layout of the blocks. REQUIRES: block_tokens is positive.
KvLayout kv_layout_of(const ModelSpec& model, int64_t tensor_parallel_size, int64_t block_tokens);

}  // namespace kvcap
