// The groups of layers that share the GPU's blocks, as vLLM's hybrid KV cache manager forms them
// (vllm/v1/core/kv_cache_utils.py): which positions of a sequence a layer needs, how many layers a group has,
// and how many tokens a block has in each group.
//
// Layers of one kind keep the same positions. Every kind is cut into groups of equally many layers; the last
// group of a kind may be padded. A block is one page for each layer of a group. All pages have the same
// bytes, so all groups take their blocks from one pool: where a kind needs fewer bytes for a token, its
// blocks have more tokens, and where recurrent layers keep a state, the blocks of all others grow until a
// page is as large as the state of a layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/text/names.h"

namespace kvcap {

// What a group keeps of a sequence:
//   all         every token (full attention, latents)
//   window      the newest `tokens` - 1 tokens before the next one (sliding attention)
//   chunk       the tokens since the last multiple of `tokens` (chunked attention)
//   checkpoint  a state at the end of a block (recurrent layers)
enum class KvRule : uint8_t { all, window, chunk, checkpoint };

// Where states of recurrent layers are kept, so that other requests find them (vLLM's mamba_cache_mode).
//   none   nowhere: a model with recurrent layers has no prefix cache
//   align  where a step ends at the end of a block; prefill slices are cut so that they do
//   all    at the end of every block
enum class Checkpoints : uint8_t { none, align, all };
inline constexpr std::string_view kCheckpointsNames[] = {"none", "align", "all"};
constexpr Names names_of(Checkpoints) { return kCheckpointsNames; }

// Layers of one kind. Sizes are those of one layer on one GPU.
struct KvLayers {
  KvRule rule = KvRule::all;
  int64_t layers = 0;
  int64_t tokens = 0;          // window, chunk
  double bytes_per_token = 0;  // all, window, chunk
  double state_bytes = 0;      // checkpoint
};

struct KvGroup {
  KvRule rule = KvRule::all;
  int64_t tokens = 0;  // window, chunk
  int64_t block_tokens = 16;

  // Blocks at the front of a sequence that it does not need once `computed` tokens are computed. A request
  // can begin behind `computed` tokens, a multiple of block_tokens, where the blocks behind those are there.
  int64_t unneeded_blocks(int64_t computed) const;
  // Blocks that a sequence of `tokens` tokens holds at a time at most, where a step computes up to
  // `step_tokens` of it.
  int64_t most_blocks(int64_t tokens, int64_t step_tokens, Checkpoints checkpoints) const;
};

struct KvLayout {
  std::vector<KvGroup> groups;
  int64_t group_layers = 0;  // of each group, padding included
  double page_bytes = 0;     // of one layer in one block
  // Tokens of which the blocks of all groups are multiples.
  int64_t unit_tokens = 16;

  double block_bytes() const { return page_bytes * static_cast<double>(group_layers); }
  // A prompt is found up to a multiple of it: the least common multiple of the groups' block_tokens.
  int64_t hit_tokens() const;
  // The capacity of a pool in tokens, as vLLM reports it ("GPU KV cache size"): every group has an equal part
  // of the blocks, and the smallest blocks count. Groups that keep a window or a state need less than their
  // part, so longer sequences fit than it says.
  int64_t tokens_of(int64_t blocks) const;
  int64_t blocks_of(int64_t capacity_tokens) const;
  // Of the group whose blocks have the fewest.
  int64_t block_tokens() const;
  // KvGroup::most_blocks() of all groups.
  int64_t most_blocks(int64_t tokens, int64_t step_tokens, Checkpoints checkpoints) const;
  // One group that keeps all tokens.
  bool is_plain() const { return groups.size() == 1 && groups[0].rule == KvRule::all; }
};

// `block_tokens`: as the engine's option says; the tokens of a block are at least so many.
// REQUIRES: some layers; sizes are positive.
KvLayout kv_layout(std::span<const KvLayers> kinds, int64_t block_tokens);

}  // namespace kvcap
