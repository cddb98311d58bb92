#include <cmath>

#include "base/check.h"
#include "cost/cost_model.h"
#include "cost/kv_layers.h"
#include "cost/layer_shapes.h"

namespace kvcap {

KvCapacity derive_kv_capacity(const ModelSpec& model, const HardwareProfile& hardware,
                              int64_t tensor_parallel_size, double gpu_memory_utilization,
                              int64_t max_num_batched_tokens, int64_t block_size,
                              const ExpertPlacement& placement, const DraftMemory& draft) {
  KVCAP_CHECK(block_size > 0);
  const LayerShapes shapes = layer_shapes(model, tensor_parallel_size, placement);
  const auto gpus = static_cast<double>(tensor_parallel_size);
  KvCapacity capacity;
  capacity.weight_bytes = model.weight_bytes() + gpus * draft.weight_bytes;
  if (placement.ranks > 1) {
    const auto ranks = static_cast<double>(placement.ranks);
    capacity.weight_bytes -= (1 - 1 / ranks) * model.routed_weight_bytes();
  }
  capacity.activation_bytes = gpus * static_cast<double>(max_num_batched_tokens) *
                              shapes.activation_elements_per_token * model.hidden_bytes_per_element;
  const double free_bytes = gpus * hardware.gpu.memory_bytes * gpu_memory_utilization -
                            capacity.weight_bytes - capacity.activation_bytes;
  if (free_bytes <= 0) return capacity;
  // Replicated KV heads and latents take their place on every GPU, so the group's bytes per token can be
  // more than the model's.
  const KvLayout layout = kv_layout_of(model, tensor_parallel_size, block_size);
  const double block_bytes = gpus * draft.block_bytes(layout);
  capacity.tokens = layout.tokens_of(static_cast<int64_t>(std::floor(free_bytes / block_bytes)));
  return capacity;
}

}  // namespace kvcap
