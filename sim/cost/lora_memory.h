// LoraSlots: the memory of one GPU that an engine reserves for LoRA adapters before it plans its KV cache.
#pragma once

#include <cstdint>

#include "spec/expert_placement.h"
#include "spec/model_spec.h"

namespace kvcap {

struct LoraSlots {
  int64_t count = 0;  // adapters on the GPU at once; 0: LoRA is not enabled
  int64_t rank = 0;   // largest rank of an adapter
};

// Returns the bytes of the slots on one GPU, as vLLM allocates them (vllm/lora/layers: base_linear.py,
// column_parallel_linear.py, fused_moe.py at 01235a4, 4f54575, 0002540), in the activations' type. Every
// linear layer of n outputs and k inputs on this GPU has rank x (n + k) elements per slot, so tensor
// parallelism divides the slots as it divides the layer. Layers that are merged in one GEMM (queries, keys
// and values; gate and up) each have k inputs of their own. Adapters of the embedding and the output
// projection are not included.
double lora_bytes(const ModelSpec& model, int64_t tensor_parallel_size, const ExpertPlacement& placement,
                  const LoraSlots& slots);

}  // namespace kvcap
