#include "state/block_pool.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "base/invariants.h"

namespace kvcap {
namespace {

bool continues(const TextRun& text, const TextRun& next) {
  return next.text == text.text && next.first == text.first + text.tokens;
}

}  // namespace

std::vector<BlockRun> block_runs(std::span<const TextRun> texts, int64_t block_size) {
  std::vector<BlockRun> runs;
  int64_t filled = 0;  // filled tokens of a block that spans several texts
  Key contents = 0;
  Key part = 0;  // the part at the block's beginning
  int64_t part_end = 0;
  for (std::size_t i = 0; i < texts.size();) {
    TextRun text = texts[i++];
    for (; i < texts.size() && (texts[i].tokens <= 0 || continues(text, texts[i])); ++i) {
      text.tokens += std::max(texts[i].tokens, int64_t{0});
    }
    if (text.tokens <= 0) continue;
    const int64_t all = text.tokens;
    if (filled > 0) {
      const int64_t here = std::min(text.tokens, block_size - filled);
      contents = chained(chained(chained(contents, text.text), static_cast<Key>(text.first)),
                         static_cast<Key>(here));
      filled += here;
      text.first += here;
      text.tokens -= here;
      if (filled < block_size) continue;
      runs.push_back({contents, kSeveralTexts, 1, part, part_end - block_size});
    }
    const int64_t blocks = text.tokens / block_size;
    if (blocks > 0) runs.push_back({text.text, text.first, blocks, text.part, all - text.tokens});
    filled = text.tokens - blocks * block_size;
    const auto begin = static_cast<Key>(text.first + blocks * block_size);
    contents = filled > 0
                   ? chained(chained(chained(0x6b76636170ULL, text.text), begin), static_cast<Key>(filled))
                   : 0;
    part = text.part;
    part_end = all;
  }
  return runs;
}

BlockPool::BlockPool(int64_t blocks, int64_t block_size, bool caching, uint32_t groups,
                     int64_t retained_blocks)
    : total_(blocks),
      block_size_(block_size),
      caching_(caching),
      groups_(groups),
      retained_blocks_(retained_blocks),
      nameless_free_(blocks),
      nodes_(groups) {}

// ---- the tree ----

Key BlockPool::child_key(uint32_t parent, Key text, int64_t first) const {
  return chained(chained(text, static_cast<Key>(first)), parent);
}

uint32_t BlockPool::add_node(uint32_t parent, const BlockRun& run, bool retained) {
  uint32_t node = static_cast<uint32_t>(nodes_.size());
  if (free_nodes_.empty()) {
    nodes_.emplace_back();
  } else {
    node = free_nodes_.back();
    free_nodes_.pop_back();
  }
  nodes_[node] = {.text = run.text,
                  .first = run.first,
                  .part = run.part,
                  .part_first = run.part_first,
                  .blocks = static_cast<uint32_t>(run.blocks),
                  .retained = retained,
                  .parent = parent};
  children_.set(child_key(parent, run.text, run.first), node);
  ++nodes_[parent].children;
  return node;
}

void BlockPool::remove_node(uint32_t node) {
  const Node& gone = nodes_[node];
  KVCAP_CHECK(gone.children == 0 && gone.oldest == kNone);
  children_.erase(child_key(gone.parent, gone.text, gone.first));
  --nodes_[gone.parent].children;
  free_nodes_.push_back(node);
}

uint32_t BlockPool::add_copy(uint32_t node) {
  uint32_t copy = static_cast<uint32_t>(copies_.size());
  if (free_copies_.empty()) {
    copies_.emplace_back();
  } else {
    copy = free_copies_.back();
    free_copies_.pop_back();
  }
  copies_[copy] = {.node = node};
  Node& of = nodes_[node];
  (of.oldest == kNone ? of.oldest : copies_[of.newest].newer) = copy;
  of.newest = copy;
  return copy;
}

// Removes a copy. REQUIRES: it is unreferenced and not in an eviction order.
void BlockPool::remove_copy(uint32_t copy) {
  const uint32_t node = copies_[copy].node;
  Node& of = nodes_[node];
  if (of.oldest == copy) {
    of.oldest = copies_[copy].newer;
    if (of.oldest == kNone) of.newest = kNone;
  } else {
    uint32_t older = of.oldest;
    while (copies_[older].newer != copy) older = copies_[older].newer;
    copies_[older].newer = copies_[copy].newer;
    if (of.newest == copy) of.newest = older;
  }
  copies_[copy] = {};
  free_copies_.push_back(copy);
  if (of.oldest == kNone) remove_node(node);
}

// Splits off the first `blocks` blocks of the node into a new parent node and returns it. Holders of a copy
// of the node then also hold what was split off its front (Copy::front).
uint32_t BlockPool::split(uint32_t node, int64_t blocks) {
  const Node old = nodes_[node];
  KVCAP_CHECK(0 < blocks && blocks < old.blocks);
  children_.erase(child_key(old.parent, old.text, old.first));
  --nodes_[old.parent].children;
  const uint32_t upper =
      add_node(old.parent, {old.text, old.first, blocks, old.part, old.part_first}, old.retained);
  Node& lower = nodes_[node];
  lower.first += tokens(blocks);
  lower.part_first += tokens(blocks);
  lower.blocks -= static_cast<uint32_t>(blocks);
  lower.parent = upper;
  children_.set(child_key(upper, lower.text, lower.first), node);
  ++nodes_[upper].children;
  for (uint32_t copy = lower.oldest; copy != kNone; copy = copies_[copy].newer) {
    const uint32_t front = add_copy(upper);
    copies_[front].holders = copies_[copy].holders;
    copies_[front].front = copies_[copy].front;
    copies_[copy].front = front;
    if (copies_[copy].holders == 0) link_behind(front, copy);
  }
  return upper;
}

// ---- the order of eviction ----

void BlockPool::link_last(uint32_t copy) {
  Ends& ends = out_[nodes_[copies_[copy].node].retained];
  copies_[copy].before = ends.last;
  copies_[copy].behind = kNone;
  (ends.last == kNone ? ends.first : copies_[ends.last].behind) = copy;
  ends.last = copy;
}

void BlockPool::link_behind(uint32_t copy, uint32_t where) {
  const uint32_t behind = copies_[where].behind;
  copies_[copy].before = where;
  copies_[copy].behind = behind;
  copies_[where].behind = copy;
  (behind == kNone ? out_[nodes_[copies_[where].node].retained].last : copies_[behind].before) = copy;
}

void BlockPool::unlink(uint32_t copy) {
  const Copy& one = copies_[copy];
  Ends& ends = out_[nodes_[one.node].retained];
  (one.before == kNone ? ends.first : copies_[one.before].behind) = one.behind;
  (one.behind == kNone ? ends.last : copies_[one.behind].before) = one.before;
}

void BlockPool::add_holder(uint32_t copy) {
  if (copies_[copy].holders++ > 0) return;
  unlink(copy);
  cached_ -= nodes_[copies_[copy].node].blocks;
}

void BlockPool::drop_holder(uint32_t copy) {
  KVCAP_CHECK(copies_[copy].holders > 0);
  if (--copies_[copy].holders > 0) return;
  link_last(copy);
  cached_ += nodes_[copies_[copy].node].blocks;
}

void BlockPool::evict(int64_t blocks) {
  while (blocks > 0) {
    const uint32_t copy = first_out();
    KVCAP_CHECK(copy != kNone);
    const uint32_t node = copies_[copy].node;
    const int64_t gone = std::min<int64_t>(blocks, nodes_[node].blocks);
    const int64_t left = nodes_[node].blocks - gone;
    const bool only = nodes_[node].oldest == nodes_[node].newest;
    if (evicted_) {
      const Node& of = nodes_[node];
      evicted_({of.text, of.first + tokens(left), gone, of.part, of.part_first + tokens(left)});
    }
    if (left > 0 && only) {
      KVCAP_CHECK(nodes_[node].children == 0);
      nodes_[node].blocks -= static_cast<uint32_t>(gone);
    } else {
      if (left > 0) split(node, left);  // the copy is now one of the tail
      unlink(copy);
      remove_copy(copy);
    }
    cached_ -= gone;
    blocks -= gone;
  }
}

// ---- requests ----

BlockPool::Hits BlockPool::find(std::span<const BlockRun> chain, int64_t most, uint32_t group) const {
  Hits hits;
  uint32_t node = group;
  for (const BlockRun& run : chain) {
    for (int64_t in_run = 0; in_run < run.blocks;) {
      node = child(node, run.text, run.first + tokens(in_run));
      if (node == kNone || hits.blocks == most) return hits;
      const int64_t here = std::min({int64_t{nodes_[node].blocks}, run.blocks - in_run, most - hits.blocks});
      hits.blocks += here;
      if (copies_[nodes_[node].oldest].holders == 0) hits.unheld += here;
      if (here < nodes_[node].blocks) return hits;
      in_run += here;
    }
  }
  return hits;
}

// Returns the run at which the named blocks end. Leaves a completed run only now, because the chain may have
// extended it.
const BlockRun& BlockPool::next_run(std::span<const BlockRun> chain, Holding& holding) {
  if (holding.in_run_ == chain[holding.run_].blocks) {
    ++holding.run_;
    holding.in_run_ = 0;
  }
  return chain[holding.run_];
}

void BlockPool::hold(std::span<const BlockRun> chain, int64_t blocks, Holding& holding) {
  KVCAP_CHECK(holding.blocks() == 0);
  holding.run_ = 0;
  holding.in_run_ = 0;
  uint32_t node = holding.group_;
  while (holding.named_ < blocks) {
    const BlockRun& run = next_run(chain, holding);
    node = child(node, run.text, run.first + tokens(holding.in_run_));
    KVCAP_CHECK(node != kNone);
    const int64_t here =
        std::min({int64_t{nodes_[node].blocks}, run.blocks - holding.in_run_, blocks - holding.named_});
    if (here < nodes_[node].blocks) node = split(node, here);
    add_holder(nodes_[node].oldest);
    holding.parts_.push_back({nodes_[node].oldest, static_cast<uint32_t>(here)});
    holding.named_ += here;
    holding.in_run_ += here;
  }
}

void BlockPool::take(int64_t blocks, Holding& holding) {
  KVCAP_CHECK(blocks <= free());
  const int64_t nameless = std::min(blocks, nameless_free_);
  nameless_free_ -= nameless;
  evict(blocks - nameless);
  holding.nameless_ += blocks;
}

void BlockPool::name(std::span<const BlockRun> chain, int64_t blocks, Holding& holding) {
  if (!caching_) return;
  KVCAP_CHECK(blocks <= holding.blocks());
  while (holding.named_ < blocks) {
    const BlockRun& run = next_run(chain, holding);
    const int64_t first = run.first + tokens(holding.in_run_);
    const bool retained = holding.named_ < retained_blocks_;
    int64_t here = std::min(run.blocks - holding.in_run_, blocks - holding.named_);
    if (retained)
      here = std::min(here, retained_blocks_ - holding.named_);  // all blocks of a node are retained, or none
    const uint32_t copy = holding.parts_.empty() ? kNone : holding.parts_.back().copy;
    const uint32_t parent = copy == kNone ? holding.group_ : copies_[copy].node;
    const Node& last = nodes_[parent];
    const bool goes_on = copy != kNone && copies_[copy].holders == 1 && last.children == 0 &&
                         last.oldest == last.newest && last.retained == retained && last.text == run.text &&
                         last.first + tokens(last.blocks) == first;
    if (goes_on) {
      nodes_[parent].blocks += static_cast<uint32_t>(here);
      holding.parts_.back().blocks += static_cast<uint32_t>(here);
    } else {
      uint32_t node = child(parent, run.text, first);
      if (node == kNone) {
        node = add_node(parent, {run.text, first, here, run.part, run.part_first + tokens(holding.in_run_)},
                        retained);
      } else {
        here = std::min<int64_t>(here, nodes_[node].blocks);
        if (here < nodes_[node].blocks) node = split(node, here);
      }
      const uint32_t own = add_copy(node);
      copies_[own].holders = 1;
      holding.parts_.push_back({own, static_cast<uint32_t>(here)});
    }
    holding.named_ += here;
    holding.nameless_ -= here;
    holding.in_run_ += here;
  }
}

void BlockPool::give_back(Holding& holding) {
  nameless_free_ += holding.nameless_;
  for (auto part = holding.parts_.rbegin(); part != holding.parts_.rend(); ++part) {
    uint32_t copy = part->copy;
    for (int64_t left = part->blocks; left > 0; copy = copies_[copy].front) {
      left -= nodes_[copies_[copy].node].blocks;
      drop_holder(copy);
    }
  }
  holding.parts_.clear();
  holding.named_ = holding.nameless_ = 0;
  holding.run_ = 0;
  holding.in_run_ = 0;
}

// ---- invariants ----

void BlockPool::check(std::span<const Holding* const> holdings) const {
  std::unordered_map<uint32_t, uint32_t> holders;
  int64_t nameless_held = 0;
  for (const Holding* holding : holdings) {
    nameless_held += holding->nameless_;
    int64_t named = 0;
    uint32_t above = holding->group_;  // consecutive blocks of a sequence are parent and child in the tree
    for (const Holding::Part& part : holding->parts_) {
      named += part.blocks;
      uint32_t copy = part.copy;
      for (int64_t left = part.blocks; left > 0; copy = copies_[copy].front) {
        ++holders[copy];
        const Node& node = nodes_[copies_[copy].node];
        left -= node.blocks;
        KVCAP_INVARIANT("INV-BLOCKS", left >= 0);
        KVCAP_INVARIANT("INV-TREE", node.parent == (left == 0 ? above : copies_[copies_[copy].front].node));
      }
      above = copies_[part.copy].node;
    }
    KVCAP_INVARIANT("INV-BLOCKS", named == holding->named_ && holding->nameless_ >= 0);
  }
  int64_t listed = 0, listed_blocks = 0, unheld = 0, named_held = 0, nodes = 0;
  std::vector<uint32_t> children(nodes_.size());
  for (const bool retained : {false, true}) {
    const Ends& ends = out_[retained];
    for (uint32_t copy = ends.first; copy != kNone; copy = copies_[copy].behind) {
      ++listed;
      listed_blocks += nodes_[copies_[copy].node].blocks;
      KVCAP_INVARIANT("INV-BLOCKS", copies_[copy].holders == 0);
      KVCAP_INVARIANT("INV-TREE", nodes_[copies_[copy].node].retained == retained);
      const uint32_t behind = copies_[copy].behind;
      KVCAP_INVARIANT("INV-TREE", behind == kNone ? ends.last == copy : copies_[behind].before == copy);
    }
  }
  for (uint32_t node = groups_; node < nodes_.size(); ++node) {
    if (nodes_[node].oldest == kNone) continue;
    ++nodes;
    KVCAP_INVARIANT("INV-TREE", nodes_[node].blocks > 0);
    // A block stays cached as long as any block after it.
    const uint32_t parent = nodes_[node].parent;
    KVCAP_INVARIANT("INV-TREE", parent < groups_ || nodes_[parent].oldest != kNone);
    ++children[parent];
    KVCAP_INVARIANT("INV-TREE", child(nodes_[node].parent, nodes_[node].text, nodes_[node].first) == node);
    for (uint32_t copy = nodes_[node].oldest; copy != kNone; copy = copies_[copy].newer) {
      KVCAP_INVARIANT("INV-TREE", copies_[copy].node == node);
      const auto counted = holders.find(copy);
      KVCAP_INVARIANT("INV-BLOCKS",
                      copies_[copy].holders == (counted == holders.end() ? 0 : counted->second));
      if (copies_[copy].holders == 0) ++unheld;
      if (copies_[copy].holders > 0) named_held += nodes_[node].blocks;
    }
  }
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    KVCAP_INVARIANT("INV-TREE", node >= groups_ && nodes_[node].oldest == kNone
                                    ? children[node] == 0
                                    : children[node] == nodes_[node].children);
  }
  KVCAP_INVARIANT("INV-TREE", children_.size() == static_cast<std::size_t>(nodes));
  KVCAP_INVARIANT("INV-BLOCKS", listed == unheld && listed_blocks == cached_);
  KVCAP_INVARIANT("INV-BLOCKS",
                  nameless_free_ >= 0 && nameless_free_ + cached_ + named_held + nameless_held == total_);
}

}  // namespace kvcap
