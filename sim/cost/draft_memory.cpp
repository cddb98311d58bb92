#include "cost/draft_memory.h"

#include "cost/gpu_memory.h"
#include "cost/kv_layers.h"

namespace kvcap {

double DraftMemory::block_bytes(const KvLayout& layout) const {
  const double tokens =
      static_cast<double>(layout.block_tokens()) / static_cast<double>(layout.groups.size());
  return layout.block_bytes() + kv_bytes_per_token * tokens;
}

ModelSpec model_of_layers(const ModelSpec& model, int64_t layers) {
  ModelSpec drafter = model;
  drafter.num_hidden_layers = layers;
  drafter.layer_groups.clear();
  drafter.ffn_layers.reset();
  if (drafter.experts) drafter.experts->dense_layers = 0;
  return drafter;
}

DraftMemory draft_memory_of(const ModelSpec& drafter, bool shares_words, int64_t tensor_parallel_size,
                            const ExpertPlacement& placement) {
  DraftMemory memory;
  memory.weight_bytes = loaded_weight_bytes(drafter, tensor_parallel_size, placement);
  if (shares_words) {
    // The memory of the layers alone is that of twice as many layers minus that of the drafter.
    const ModelSpec twice = model_of_layers(drafter, 2 * drafter.num_hidden_layers);
    memory.weight_bytes = loaded_weight_bytes(twice, tensor_parallel_size, placement) - memory.weight_bytes;
  }
  for (const KvLayers& kind : kv_layers(drafter, tensor_parallel_size)) {
    memory.kv_bytes_per_token += static_cast<double>(kind.layers) * kind.bytes_per_token;
  }
  return memory;
}

}  // namespace kvcap
