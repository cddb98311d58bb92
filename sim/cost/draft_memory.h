// DraftMemory: the memory per GPU that the drafter of speculative decoding takes in addition to the target
// model.
#pragma once

#include <cstdint>

#include "spec/expert_placement.h"
#include "spec/kv_groups.h"
#include "spec/model_spec.h"

namespace kvcap {

// Sizes on one GPU.
struct DraftMemory {
  double weight_bytes = 0;
  double kv_bytes_per_token = 0;  // KV of the drafter's own layers

  // Returns the bytes of a block of the layout, including the drafter's part: the drafter keeps its own KV
  // for every token of the capacity (KvLayout::tokens_of).
  double block_bytes(const KvLayout& layout) const;
};

// Returns a model with `layers` layers like those of `model`: full or latent attention, and experts if the
// model has any.
ModelSpec model_of_layers(const ModelSpec& model, int64_t layers);

// Returns the drafter's memory. `shares_words`: the drafter uses the embedding and output projection of the
// target model.
DraftMemory draft_memory_of(const ModelSpec& drafter, bool shares_words, int64_t tensor_parallel_size,
                            const ExpertPlacement& placement = {});

}  // namespace kvcap
