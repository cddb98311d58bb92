// Attention kernels of one layer on one GPU. Private to cost/: others ask CostModel.
//
// A prefill kernel is a grid of thread blocks. A block takes block_m query rows over all their keys and does
// not split the keys, so that a short chunk over a long prefix leaves most SMs idle. The prompts of a step
// are one call, and their blocks are one grid: they start longest first, as many as there are SMs in one
// wave. A wave that ends together lasts as long as its longest block; a persistent kernel begins its next
// block when one ends. With d = 4 block_m head_dim keys / (P e / SMs) + block_s for one block,
//
//   blocks:  t = constant_s + max(longest, work + wave_tail (waves - work), bytes / (W b))
//   wave:    t = constant_s + waves
//
// where work = sum of d / SMs and waves = the sum over waves of the longest d of each. In `blocks` every row
// block has the keys that it sees; in `wave` all blocks of a chunk have their mean, cached + new/2 +
// block_m/2, and block_s is 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
  int64_t kv_heads = 1;  // latent attention in decode: 1
  int64_t window = 0;    // a query sees the newest so many keys, its own included; 0: all
  int64_t queries = 1;   // decode: of each sequence; more than one where it verifies drafts

  // Flops of one query against one key: scores and weighted sum, all heads.
  double pair_flops() const;
};

// Sequences that decode in the prefill kernel: `queries` rows each, context_tokens tokens in all.
struct DecodeRows {
  int64_t sequences = 0;
  int64_t context_tokens = 0;
  int64_t queries = 1;
};

// Query-key pairs of a causal chunk: every new token sees the cached ones and, on average, half of the new.
// With a window w the i-th new token sees min(cached + i, w).
double causal_pairs(PrefillChunk chunk, int64_t window = 0);

// The chunk as layers see it whose tokens attend to the tokens of their own `size` tokens alone (Llama 4):
// one part for each such stretch. Appends.
void split_at_chunks(PrefillChunk chunk, int64_t size, std::vector<PrefillChunk>& parts);

// One call over all chunks and rows; 0 for none.
double prefill_attention_s(const Efficiency& efficiency, const Gpu& gpu, std::span<const PrefillChunk> chunks,
                           const AttentionShape& shape, DecodeRows rows = {});

// Without kernel overhead, like the function above. For profiles without a DecodeEfficiency. Several queries
// of a sequence read its keys and values once, and multiply them once each.
DecodeAttention decode_attention(const Efficiency& efficiency, const Gpu& gpu, const AttentionShape& shape);

// `prefill`: the GPU's prefill kernel, which decodes models below split_from_group.
DecodeAttention decode_attention(const DecodeEfficiency& efficiency, const Efficiency& prefill,
                                 const Gpu& gpu, const AttentionShape& shape, int64_t sequences);

}  // namespace kvcap
