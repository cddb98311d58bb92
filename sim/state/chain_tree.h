// ChainTree: the names of blocks. A name stands for all tokens of a sequence up to the end of a unit (vLLM's
// block hash), so that sequences which begin alike share the names of their beginnings.
//
// A node is one text under a chain of texts: it names every unit of the text that may follow there, whether
// or not it has been computed. Where a sequence goes on with another text, after any unit of a node, it
// goes on in a child. So nodes are never split, and a walk along a chain costs one lookup per text.
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
  // A node names at most this many units; a longer text goes on in a child.
  static constexpr int64_t kMostUnits = 512;

  // Units [begin, end) of a sequence, named by `node`.
  struct Stretch {
    uint32_t node = kRoot;
    int64_t begin = 0, end = 0;
  };

  explicit ChainTree(int64_t unit_tokens) : unit_tokens_(unit_tokens), nodes_(1) {}

  // Returns the units that follow the first `units` units of a sequence, which end in `node`, if the sequence
  // goes on with the last units of `run` after its first `in_run`; at most `most` units. The node is kNone if
  // no block and no request has that name.
  Stretch next(uint32_t node, int64_t units, const BlockRun& run, int64_t in_run, int64_t most) const;
  // The same, and adds the node if need be. REQUIRES: the caller holds `node`, and will hold the new one.
  Stretch add_next(uint32_t node, int64_t units, const BlockRun& run, int64_t in_run, int64_t most);

  // A node stays as long as it is held or has a child. The root always stays.
  void hold(uint32_t node) { ++nodes_[node].holders; }
  void release(uint32_t node);

  // Returns `units` units of a sequence that `node` names, from the sequence's unit `unit` on.
  BlockRun run(uint32_t node, int64_t unit, int64_t units) const;
  // Returns the node on the way from the root to `node` that names the sequence's unit `unit`, which is not
  // behind those of `node`.
  uint32_t node_of(uint32_t node, int64_t unit) const;
  int64_t begin(uint32_t node) const { return nodes_[node].begin; }
  std::size_t slots() const { return nodes_.size(); }

  // Recomputes the holders of every node from `holders`, those outside of the tree. Aborts on a mismatch.
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
