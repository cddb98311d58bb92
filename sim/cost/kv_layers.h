// What the layers of a model keep of a sequence on one GPU of a tensor-parallel group, and how that makes up
// the blocks of the pool (spec/kv_groups.h).
#pragma once

#include <cstdint>
#include <vector>

#include "spec/kv_groups.h"
#include "spec/model_spec.h"

namespace kvcap {

// One entry for each of the model's groups. KV heads that are fewer than GPUs are replicated, and so are
// latents; states of recurrent layers are divided by heads.
std::vector<KvLayers> kv_layers(const ModelSpec& model, int64_t tensor_parallel_size);

// REQUIRES: block_tokens is positive.
KvLayout kv_layout_of(const ModelSpec& model, int64_t tensor_parallel_size, int64_t block_tokens);

}  // namespace kvcap
