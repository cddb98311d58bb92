// Computes the time of the attention kernels of one layer on one GPU. Private to cost/; other modules use
// CostModel.
//
// A prefill kernel is a grid of thread blocks. A block processes block_m query rows over all their keys and
// does not split the keys, so a short prefill slice over a long prefix leaves most SMs idle. The prompts of a
// step share one kernel call, and their blocks form one grid: blocks with the most keys start first, one
// block per SM in each wave. If all blocks of a wave must end before the next wave starts, a wave lasts as
// long as its longest block. A persistent kernel starts its next block as soon as one ends. With the GPU's
// peak P and memory bandwidth W, and the profile's efficiency e and bandwidth_efficiency b, the time d of one
// block and the time t of the call are
//
//   d = 4 block_m head_dim keys / (P e / SMs) + block_s
//
//   blocks:  t = constant_s + max(longest, work + wave_tail (waves - work), bytes / (W b))
//   wave:    t = constant_s + waves
//
// where work = sum of d / SMs, and waves = the sum of the longest d of every wave. In `blocks`, a row block
// has the keys to which its rows attend. In `wave`, all blocks of a slice have the mean number of keys,
// cached + new/2 + block_m/2, and block_s is 0.
//
// A kernel with padded rows (SGLang's Triton,
// sglang/srt/layers/attention/triton_ops/extend_attention.py@01925ca) starts blocks for as many rows of every
// prompt as the longest prompt of the call has. Blocks without queries still read the whole prefix.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/decode_attention.h"
#include "cost/step_work.h"
#include "spec/hardware_profile.h"

namespace kvcap {

// Shape of the attention kernel on one GPU. Ordinary heads have key_dim = value_dim = d and store 2 g d
// elements per token for g KV heads. Latent attention differs in all three values.
struct AttentionShape {
  int64_t query_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  double kv_elements_per_token = 0;
  double query_bytes_per_element = 2;  // queries and outputs
  double kv_bytes_per_element = 2;
  int64_t kv_heads = 1;  // latent attention in decode: 1
  int64_t window = 0;    // newest keys to which a query attends, including its own; 0: all
  int64_t queries = 1;   // decode: per sequence; more than one if the step verifies drafts

  // Returns the flops of one query against one key: scores and weighted sum, all heads.
  double pair_flops() const;
};

// Sequences that decode in the prefill kernel: `queries` rows each, context_tokens tokens in total.
struct DecodeRows {
  int64_t sequences = 0;
  int64_t context_tokens = 0;
  int64_t queries = 1;
};

// Returns the number of query-key pairs of a causal slice: every new token attends to the cached tokens and,
// on average, half of the new ones. With a window w the i-th new token attends to min(cached + i, w) tokens.
double causal_pairs(PrefillChunk chunk, int64_t window = 0);

// Appends the parts of a slice for layers whose tokens attend only to their own chunk of `size` tokens (Llama
// 4): one part per chunk.
void split_at_chunks(PrefillChunk chunk, int64_t size, std::vector<PrefillChunk>& parts);

// Returns the time of one call over all slices and rows; 0 if there are none.
double prefill_attention_s(const Efficiency& efficiency, const Gpu& gpu, std::span<const PrefillChunk> chunks,
                           const AttentionShape& shape, DecodeRows rows = {});

// Returns the attention time of a decode step without kernel overhead, for profiles without a
// DecodeEfficiency. Several queries of a sequence read its keys and values only once, but each query is
// multiplied by all of them.
DecodeAttention decode_attention(const Efficiency& efficiency, const Gpu& gpu, const AttentionShape& shape);

// Returns the attention time of a decode step without kernel overhead. `prefill`: the GPU's prefill kernel,
// which also decodes if the model has fewer query heads per KV head than split_from_group.
DecodeAttention decode_attention(const DecodeEfficiency& efficiency, const Efficiency& prefill,
                                 const Gpu& gpu, const AttentionShape& shape, int64_t sequences);

}  // namespace kvcap
