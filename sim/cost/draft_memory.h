// What speculative decoding's drafter takes of each GPU's memory beside the model that verifies.
#pragma once

#include <cstdint>

#include "spec/expert_placement.h"
#include "spec/kv_groups.h"
#include "spec/model_spec.h"

namespace kvcap {

// On one GPU.
struct DraftMemory {
  double weight_bytes = 0;
  double kv_bytes_per_token = 0;  // of what its own layers keep of every token

  // Bytes of a block of the layout together with the drafter's part of it: for each token of the capacity
  // (KvLayout::tokens_of) the drafter keeps its own KV.
  double block_bytes(const KvLayout& layout) const;
};

// A model of `layers` layers like the given one's: full attention, or latent; experts where the model has
// any.
ModelSpec model_of_layers(const ModelSpec& model, int64_t layers);

// `shares_words`: embedding and output projection are those of the model that verifies.
DraftMemory draft_memory_of(const ModelSpec& drafter, bool shares_words, int64_t tensor_parallel_size,
                            const ExpertPlacement& placement = {});

}  // namespace kvcap
