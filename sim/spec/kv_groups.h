// KvLayout: the groups of layers that share the GPU's blocks, formed as in vLLM's hybrid KV cache manager
// (vllm/v1/core/kv_cache_utils.py): which positions of a sequence a group keeps, its number of layers, and
// its tokens per block.
//
// Layers of one kind keep the same positions. Each kind is split into groups with the same number of layers;
// the last group of a kind may be padded. A block is one page for each layer of a group. All pages have the
// same size, so that all groups take blocks from one pool. Kinds with fewer bytes per token therefore have
// more tokens per block, and if recurrent layers keep a state, the blocks of all other kinds grow until a
// page holds the state of one layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/text/names.h"

namespace kvcap {

// Which part of a sequence a group keeps:
//   all         every token (full attention, latents)
//   window      the newest `tokens` - 1 tokens before the next one (sliding attention)
//   chunk       the tokens since the last multiple of `tokens` (chunked attention)
//   checkpoint  a state at the end of a block (recurrent layers)
enum class KvRule : uint8_t { all, window, chunk, checkpoint };

// Where states of recurrent layers are kept for reuse by other requests (vLLM's mamba_cache_mode):
//   none   nowhere, so a model with recurrent layers has no prefix cache
//   align  where a step ends at the end of a block; prefill slices are cut to end there
//   all    at the end of every block
enum class Checkpoints : uint8_t { none, align, all };
inline constexpr std::string_view kCheckpointsNames[] = {"none", "align", "all"};
constexpr Names names_of(Checkpoints) { return kCheckpointsNames; }

// Layers of one kind. Sizes are per layer and GPU.
struct KvLayers {
  KvRule rule = KvRule::all;
  int64_t layers = 0;
  int64_t tokens = 0;          // for window and chunk
  double bytes_per_token = 0;  // for all, window and chunk
  double state_bytes = 0;      // for checkpoint
};

struct KvGroup {
  KvRule rule = KvRule::all;
  int64_t tokens = 0;  // for window and chunk
  int64_t block_tokens = 16;

  // Returns how many leading blocks of a sequence are no longer needed once `computed` tokens are computed.
  // If the blocks after these, up to `computed` tokens (a multiple of block_tokens), are stored, a request
  // can start there.
  int64_t unneeded_blocks(int64_t computed) const;
  // Returns the most blocks that a sequence of `tokens` tokens holds at any time, if a step computes at most
  // `step_tokens` of its tokens.
  int64_t most_blocks(int64_t tokens, int64_t step_tokens, Checkpoints checkpoints) const;
};

struct KvLayout {
  std::vector<KvGroup> groups;
  int64_t group_layers = 0;  // per group, including padding
  double page_bytes = 0;     // one layer of one block
  // The greatest common divisor of the block_tokens of all groups.
  int64_t unit_tokens = 16;

  double block_bytes() const { return page_bytes * static_cast<double>(group_layers); }
  // Returns the granularity of prefix hits: the least common multiple of the groups' block_tokens.
  int64_t hit_tokens() const;
  // Convert between blocks and the pool's capacity in tokens, as vLLM reports it ("GPU KV cache size"): every
  // group gets an equal part of the blocks, and the smallest number of tokens per block determines the
  // capacity. Groups that keep a window or a state need less than their part, so longer sequences fit.
  int64_t tokens_of(int64_t blocks) const;
  int64_t blocks_of(int64_t capacity_tokens) const;
  // Returns the smallest block_tokens of all groups.
  int64_t block_tokens() const;
  // Returns the sum of KvGroup::most_blocks() over all groups.
  int64_t most_blocks(int64_t tokens, int64_t step_tokens, Checkpoints checkpoints) const;
  // True iff there is one group, which keeps all tokens.
  bool is_plain() const { return groups.size() == 1 && groups[0].rule == KvRule::all; }
};

// Returns the layout. `block_tokens`: the engine's block size, which is the minimum number of tokens per
// block.
// REQUIRES: at least one kind; sizes are positive.
KvLayout kv_layout(std::span<const KvLayers> kinds, int64_t block_tokens);

}  // namespace kvcap
