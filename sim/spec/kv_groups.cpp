#include "spec/kv_groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace kvcap {
namespace {

// Kernels require the number of tokens per block to be a multiple of this.
constexpr int64_t kKernelBlockTokens = 16;

bool is_checkpoint(const KvLayers& kind) { return kind.rule == KvRule::checkpoint; }

bool keep_the_same(const KvLayers& a, const KvLayers& b) { return a.rule == b.rule && a.tokens == b.tokens; }

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Returns the smallest number of tokens per block, at least `block_tokens`, with which a page can hold a
// recurrent layer's state.
int64_t enlarged(std::span<const KvLayers> kinds, int64_t block_tokens) {
  double state_bytes = 0;
  double bytes_per_token = 0;
  for (const KvLayers& kind : kinds) {
    state_bytes = std::max(state_bytes, kind.state_bytes);
    bytes_per_token = std::max(bytes_per_token, kind.bytes_per_token);
  }
  if (state_bytes == 0 || bytes_per_token == 0) return block_tokens;
  const double step_bytes = bytes_per_token * static_cast<double>(kKernelBlockTokens);
  const auto steps = static_cast<int64_t>(std::ceil(state_bytes / step_bytes));
  return std::max(block_tokens, steps * kKernelBlockTokens);
}

// Returns one group of all layers, if all kinds keep the same positions.
KvLayout one_group(std::span<const KvLayers> kinds, int64_t block_tokens) {
  KvLayout layout{.groups = {{kinds[0].rule, kinds[0].tokens, block_tokens}}, .unit_tokens = block_tokens};
  double bytes = 0;  // of a block, over all layers
  for (const KvLayers& kind : kinds) {
    layout.group_layers += kind.layers;
    const double page =
        is_checkpoint(kind) ? kind.state_bytes : kind.bytes_per_token * static_cast<double>(block_tokens);
    bytes += page * static_cast<double>(kind.layers);
  }
  layout.page_bytes = bytes / static_cast<double>(layout.group_layers);
  return layout;
}

}  // namespace

int64_t KvGroup::unneeded_blocks(int64_t computed) const {
  switch (rule) {
    case KvRule::all:
      return 0;
    case KvRule::window:
      return std::max<int64_t>(0, computed - tokens + 1) / block_tokens;
    case KvRule::chunk:
      return computed / tokens * tokens / block_tokens;
    case KvRule::checkpoint:
      return std::max<int64_t>(0, computed - 1) / block_tokens;
  }
  KVCAP_BUG("no such rule");
}

int64_t KvGroup::most_blocks(int64_t of_tokens, int64_t step_tokens, Checkpoints checkpoints) const {
  const int64_t all = divide_up(of_tokens, block_tokens);
  switch (rule) {
    case KvRule::all:
      return all;
    case KvRule::window:
    case KvRule::chunk:
      // One block more, because a window may begin anywhere in a block.
      return std::min(all, divide_up(tokens - 1 + step_tokens, block_tokens) + 1);
    case KvRule::checkpoint:
      if (checkpoints == Checkpoints::none) return 1;
      // The last checkpoint and the running state.
      if (checkpoints == Checkpoints::align) return std::min<int64_t>(all, 2);
      return std::min(all, divide_up(1 + step_tokens, block_tokens) + 1);
  }
  KVCAP_BUG("no such rule");
}

int64_t KvLayout::block_tokens() const {
  int64_t fewest = groups[0].block_tokens;
  for (const KvGroup& group : groups) fewest = std::min(fewest, group.block_tokens);
  return fewest;
}

int64_t KvLayout::tokens_of(int64_t blocks) const { return blocks / std::ssize(groups) * block_tokens(); }

int64_t KvLayout::blocks_of(int64_t capacity_tokens) const {
  return capacity_tokens / block_tokens() * std::ssize(groups);
}

int64_t KvLayout::most_blocks(int64_t tokens, int64_t step_tokens, Checkpoints checkpoints) const {
  int64_t blocks = 0;
  for (const KvGroup& group : groups) blocks += group.most_blocks(tokens, step_tokens, checkpoints);
  return blocks;
}

int64_t KvLayout::hit_tokens() const {
  int64_t tokens = 1;
  for (const KvGroup& group : groups) tokens = std::lcm(tokens, group.block_tokens);
  return tokens;
}

KvLayout kv_layout(std::span<const KvLayers> kinds, int64_t block_tokens) {
  KVCAP_CHECK(!kinds.empty() && block_tokens > 0);
  if (std::all_of(kinds.begin(), kinds.end(),
                  [&](const KvLayers& kind) { return keep_the_same(kind, kinds[0]); })) {
    return one_group(kinds, block_tokens);
  }
  KvLayout layout;
  const int64_t least_tokens = enlarged(kinds, block_tokens);
  int64_t fewest = kinds[0].layers, most = 0;
  for (const KvLayers& kind : kinds) {
    KVCAP_CHECK(kind.layers > 0);
    fewest = std::min(fewest, kind.layers);
    most = std::max(most, kind.layers);
    layout.page_bytes = std::max(
        {layout.page_bytes, kind.state_bytes, kind.bytes_per_token * static_cast<double>(least_tokens)});
  }
  // Accepts a little padding to avoid many small groups.
  layout.group_layers = 4 * most < 5 * fewest ? most : fewest;
  layout.unit_tokens = 0;
  for (const KvLayers& kind : kinds) {
    KvGroup group{kind.rule, kind.tokens, least_tokens};
    if (!is_checkpoint(kind)) {
      const double page = kind.bytes_per_token * static_cast<double>(least_tokens);
      group.block_tokens *= static_cast<int64_t>(std::floor(layout.page_bytes / page));
    }
    layout.unit_tokens = std::gcd(layout.unit_tokens, group.block_tokens);
    const int64_t groups = (kind.layers + layout.group_layers - 1) / layout.group_layers;
    layout.groups.insert(layout.groups.end(), static_cast<std::size_t>(groups), group);
  }
  return layout;
}

}  // namespace kvcap
