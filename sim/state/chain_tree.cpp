#include "state/chain_tree.h"

#include <algorithm>

#include "base/check.h"
#include "base/invariants.h"

namespace kvcap {

ChainTree::Stretch ChainTree::next(uint32_t node, int64_t units, const BlockRun& run, int64_t in_run,
                                   int64_t most) const {
  const int64_t first = run.first + in_run * unit_tokens_;
  if (!goes_on(node, units, run.text, first)) node = children_.find(key(node, units, run.text, first));
  if (node == kNone) return {kNone, units, units};
  const int64_t end = std::min(units + std::min(run.blocks - in_run, most), nodes_[node].begin + kMostUnits);
  return {node, units, end};
}

ChainTree::Stretch ChainTree::add_next(uint32_t node, int64_t units, const BlockRun& run, int64_t in_run,
                                       int64_t most) {
  const Stretch known = next(node, units, run, in_run, most);
  if (known.node != kNone) return known;
  uint32_t added = static_cast<uint32_t>(nodes_.size());
  if (free_.empty()) {
    nodes_.emplace_back();
  } else {
    added = free_.back();
    free_.pop_back();
  }
  const int64_t before = in_run * unit_tokens_;
  nodes_[added] = {run.text, run.first + before, run.part, run.part_first + before, units, node};
  children_.set(key(node, units, run.text, run.first + before), added);
  hold(node);
  return next(node, units, run, in_run, most);
}

void ChainTree::release(uint32_t node) {
  while (node != kNone) {
    KVCAP_CHECK(nodes_[node].holders > 0);
    if (--nodes_[node].holders > 0 || node == kRoot) return;
    const Node& gone = nodes_[node];
    children_.erase(key(gone.parent, gone.begin, gone.text, gone.first));
    free_.push_back(node);
    node = gone.parent;
  }
}

BlockRun ChainTree::run(uint32_t node, int64_t unit, int64_t units) const {
  const Node& one = nodes_[node];
  const int64_t before = (unit - one.begin) * unit_tokens_;
  return {one.text, one.first + before, units, one.part, one.part_first + before};
}

uint32_t ChainTree::node_of(uint32_t node, int64_t unit) const {
  while (unit < nodes_[node].begin) node = nodes_[node].parent;
  return node;
}

void ChainTree::check(std::vector<uint32_t> holders) const {
  holders.resize(nodes_.size());
  std::vector<bool> is_free(nodes_.size());
  for (const uint32_t node : free_) is_free[node] = true;
  for (uint32_t node = 1; node < nodes_.size(); ++node) {
    if (is_free[node]) continue;
    const Node& one = nodes_[node];
    KVCAP_INVARIANT("INV-TREE", !is_free[one.parent] && nodes_[one.parent].begin <= one.begin);
    KVCAP_INVARIANT("INV-TREE", children_.find(key(one.parent, one.begin, one.text, one.first)) == node);
    ++holders[one.parent];
  }
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    KVCAP_INVARIANT("INV-TREE", nodes_[node].holders == holders[node]);
  }
  KVCAP_INVARIANT("INV-TREE", children_.size() + free_.size() + 1 == nodes_.size());
}

}  // namespace kvcap
