// Attention kernels of one layer on one GPU. Private to cost/: others ask CostModel.
#pragma once

#include <cstdint>

#include "cost/cost_model.h"
#include "spec/hardware_profile.h"

namespace kvcap {

// What one GPU's attention kernel sees. Ordinary heads have key_dim = value_dim = d and hold 2 g d elements
// per token; latent attention differs in all three.
struct AttentionShape {
  int64_t query_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  double kv_elements_per_token = 0;
  double query_bytes_per_element = 2;  // of queries and outputs
  double kv_bytes_per_element = 2;

  // Flops of one query against one key: scores and weighted sum, all heads.
  double pair_flops() const;
};

// Query-key pairs of a causal chunk: every new token sees the cached ones and, on average, half of the new.
double causal_pairs(PrefillChunk chunk);

double prefill_attention_s(const Efficiency& efficiency, const Gpu& gpu, PrefillChunk chunk,
                           const AttentionShape& shape);

// Without kernel overhead, like the function above.
DecodeAttention decode_attention(const Efficiency& efficiency, const Gpu& gpu, const AttentionShape& shape);

}  // namespace kvcap
