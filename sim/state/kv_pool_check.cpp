// Checks the invariants of a KvPool, recomputed from its records.
#include <algorithm>

#include "base/invariants.h"
#include "state/kv_pool.h"

namespace kvcap {

// Returns the number of holders of every copy, and checks the sums of each holding.
std::vector<uint32_t> KvPool::check_holders(std::span<const KvHolding* const> holdings) const {
  std::vector<uint32_t> holders(named_.copy_slots());
  for (const KvHolding* holding : holdings) {
    int64_t blocks = 0;
    for (uint32_t g = 0; g < holding->groups_.size(); ++g) {
      const OfGroup& of = holding->groups_[g];
      int64_t held = 0, at = of.front;
      for (const Piece& piece : of.pieces) {
        KVCAP_INVARIANT("INV-BLOCKS", at <= piece.begin && piece.begin < piece.end);
        at = piece.end;
        held += piece.end - piece.begin;
        if (piece.copy == kNone) continue;
        int64_t end = piece.end;
        named_.for_each(piece.copy, piece.begin, [&](uint32_t copy, const NamedBlocks::Cell& cell) {
          KVCAP_INVARIANT("INV-GROUPS", cell.group == g);
          KVCAP_INVARIANT("INV-BLOCKS", cell.end == end && cell.begin >= piece.begin);
          end = cell.begin;
          ++holders[copy];
        });
      }
      KVCAP_INVARIANT("INV-BLOCKS", at <= of.end && held == of.held);
      KVCAP_INVARIANT("INV-GROUPS", held <= groups_[g].most_blocks);
      blocks += held;
    }
    KVCAP_INVARIANT("INV-BLOCKS", blocks == holding->blocks_);
  }
  return holders;
}

// True iff a block's priority is never below that of a block after it.
static bool heads_stay(const Retention& retention) {
  if (retention.decode_priority != kDefaultPriority || retention.ranges.size() > 1) return false;
  return std::all_of(retention.ranges.begin(), retention.ranges.end(), [](const RetentionRange& one) {
    return one.from_token == 0 && one.priority >= kDefaultPriority && !one.duration_s;
  });
}

// In a group that keeps all tokens, a block stays cached at least as long as any block after it, unless its
// priority is lower. In that case, the blocks after it are not found until it has been computed again.
// (TensorRT-LLM forgets their names at once, but they keep their positions in the eviction order.)
void KvPool::check_heads() const {
  if (!heads_stay(retention_)) return;
  named_.for_each_cell([this](const NamedBlocks::Cell& cell) {
    const Group& group = groups_[cell.group];
    if (group.is.rule != KvRule::all || cell.begin == 0) return;
    const uint32_t node = tree_.node_of(cell.node, cell.begin * group.units - 1);
    KVCAP_INVARIANT("INV-TREE", named_.find(node, cell.group, cell.begin - 1) != kNone);
  });
}

void KvPool::check(std::span<const KvHolding* const> holdings) const {
  int64_t nameless = 0;
  std::vector<uint32_t> at_node(tree_.slots());
  for (const KvHolding* holding : holdings) {
    if (holding->node_ != ChainTree::kRoot) ++at_node[holding->node_];
    for (const OfGroup& of : holding->groups_) {
      for (const Piece& piece : of.pieces) {
        if (piece.copy == kNone) nameless += piece.end - piece.begin;
      }
    }
  }
  const int64_t named_held = named_.check(check_holders(holdings));
  KVCAP_INVARIANT("INV-BLOCKS", nameless_free_ >= 0 && free() + named_held + nameless == total_);
  check_heads();
  named_.for_each_cell([&](const NamedBlocks::Cell& cell) { ++at_node[cell.node]; });
  tree_.check(std::move(at_node));
}

}  // namespace kvcap
