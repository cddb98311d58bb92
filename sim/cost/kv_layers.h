// Derives the state that a model's layers keep of a sequence on one GPU of a tensor-parallel group, and from
// it the layout of the pool's blocks (spec/kv_groups.h).
#pragma once

#include <cstdint>
#include <vector>

#include "spec/kv_groups.h"
#include "spec/model_spec.h"

namespace kvcap {

// Returns one entry per layer group of the model. KV heads are replicated if there are fewer heads than GPUs,
// and latents are always replicated; states of recurrent layers are divided by heads. Under decode context
// parallelism, the GPUs with the same heads hold equal parts of the tokens instead of replicas.
std::vector<KvLayers> kv_layers(const ModelSpec& model, int64_t tensor_parallel_size,
                                int64_t decode_context_parallel_size = 1);

// Returns the layout of the blocks. `block_tokens`: tokens per block on one GPU. Under decode context
// parallelism, a block of the layout consists of one block on each GPU that has a part of the tokens, as in
// vLLM (v1/core/single_type_kv_cache_manager.py). REQUIRES: block_tokens is positive.
KvLayout kv_layout_of(const ModelSpec& model, int64_t tensor_parallel_size, int64_t block_tokens,
                      int64_t decode_context_parallel_size = 1);

}  // namespace kvcap
