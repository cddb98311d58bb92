// ChainTree: gives blocks their names. A sequence is divided into units of unit_tokens tokens. Like vLLM's
// block hash, a name stands for all tokens of a sequence up to the end of a unit, so sequences with a common
// beginning share the names of that beginning.
//
// A node stands for one text that follows a chain of other texts. It names every unit of its text, whether
// computed or not. A sequence that continues with another text after some unit of a node continues in a child
// of the node. Nodes are therefore never split, and a walk along a chain costs one lookup per text.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/key_map.h"
#include "state/block_runs.h"

namespace kvcap {

class ChainTree {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  static constexpr uint32_t kRoot = 0;
  // A node names at most this many units; a longer text continues in a child.
  static constexpr int64_t kMostUnits = 512;

  // Units [begin, end) of a sequence, named by `node`.
  struct Stretch {
    uint32_t node = kRoot;
    int64_t begin = 0, end = 0;
  };

  explicit ChainTree(int64_t unit_tokens) : unit_tokens_(unit_tokens), nodes_(1) {}

  // Returns the next units of a sequence, at most `most`. The first `units` units of the sequence end in
  // `node`, and the sequence continues with `run` after the first `in_run` units of that run. The returned
  // node is kNone if no block and no request uses this name.
  Stretch next(uint32_t node, int64_t units, const BlockRun& run, int64_t in_run, int64_t most) const;
  // Like next(), but adds the node if it is missing. REQUIRES: the caller holds `node`, and will hold the
  // returned node.
  Stretch add_next(uint32_t node, int64_t units, const BlockRun& run, int64_t in_run, int64_t most);

  // A node stays as long as it is held or has a child. The root always stays.
  void hold(uint32_t node) { ++nodes_[node].holders; }
  void release(uint32_t node);

  // Returns the run of `units` units that begins at the sequence's unit `unit`. REQUIRES: `node` names these
  // units.
  BlockRun run(uint32_t node, int64_t unit, int64_t units) const;
  // Returns the node on the way from the root to `node` that names the sequence's unit `unit`, which must not
  // be beyond the units of `node`.
  uint32_t node_of(uint32_t node, int64_t unit) const;
  int64_t begin(uint32_t node) const { return nodes_[node].begin; }
  std::size_t slots() const { return nodes_.size(); }

  // Recomputes the number of holders of every node. `holders`: the number of holders outside the tree, by
  // node. Aborts on a mismatch.
  void check(std::vector<uint32_t> holders) const;

 private:
  struct Node {
    Key text = 0;
    int64_t first = 0;
    Key part = 0;
    int64_t part_first = 0;
    int64_t begin = 0;  // in units of the sequence
    uint32_t parent = kNone;
    uint32_t holders = 0;  // including children
  };

  static Key key(uint32_t parent, int64_t units, Key text, int64_t first) {
    return chained(chained(text, static_cast<Key>(first)), Key{parent} << 32 | static_cast<Key>(units));
  }
  bool goes_on(uint32_t node, int64_t units, Key text, int64_t first) const {
    const Node& one = nodes_[node];
    return node != kRoot && one.text == text && units < one.begin + kMostUnits &&
           one.first + (units - one.begin) * unit_tokens_ == first;
  }

  int64_t unit_tokens_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> free_;
  KeyMap<uint32_t, kNone> children_;
};

}  // namespace kvcap
