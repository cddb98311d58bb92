// BlockPool: the KV memory of one engine, a single pool of blocks for running requests and the prefix cache.
//
// A block holds the keys and values of block_size tokens. A request holds the blocks of its sequence. The
// name of a full block stands for all tokens up to its end (vLLM's block hash), so requests whose prompts
// begin with these tokens hit it. An unreferenced block stays cached under its name until its room is needed,
// so the cache uses all memory that running requests leave. As in vLLM V1 (docs/design/prefix_caching.md):
//
//   - Blocks that two requests computed concurrently remain two blocks with one name; lookups find the
//     older one.
//   - A request releases its blocks from last to first. Nameless free blocks are taken first; then the named
//     block that has been unreferenced for the longest time is evicted. So tails are evicted before heads.
//   - The first `retained_blocks` blocks of every chain may be retained: they are evicted only when no other
//     block is left (TensorRT-LLM: a higher retention priority for tokens at the beginning of prompts).
//
// The pool is a radix tree. A node is a run of blocks of one text that follow the same chain; its copies are
// the physical runs of blocks with that name, usually one. Every holder of a copy holds all its blocks.
// Unreferenced copies form one list in the order of their release, deepest first, and eviction trims the tail
// of the list's first copy. Each operation takes O(nodes touched), not O(blocks), with the same hits and
// evictions as a pool with a record per block.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "base/key_map.h"

namespace kvcap {

// The tokens of a text from its token `first` on. A prompt is a list of runs; equal lists of runs stand for
// equal token sequences.
struct TextRun {
  Key text = 0;
  int64_t first = 0;
  int64_t tokens = 0;
  Key part = 0;  // key of the run's part in the tiers below the GPU
};

// Full blocks of a text; the first one begins at the text's token `first`.
struct BlockRun {
  Key text = 0;
  int64_t first = 0;
  int64_t blocks = 0;
  // Key of the part (prompt.h) in host tiers, and how many tokens of the part precede this run. Not included
  // in the blocks' names.
  Key part = 0;
  int64_t part_first = 0;
  bool operator==(const BlockRun& other) const {
    return text == other.text && first == other.first && blocks == other.blocks;
  }
};

// Returns the full blocks of a sequence. A block that spans the end of one text and the beginning of the next
// is a run of its own: its key is derived from its contents, its first token is kSeveralTexts, and it belongs
// to the part at its beginning. A text may be given as several consecutive runs.
inline constexpr int64_t kSeveralTexts = -1;
std::vector<BlockRun> block_runs(std::span<const TextRun> texts, int64_t block_size);

class BlockPool {
 public:
  // The blocks of one request in order, named blocks first.
  class Holding {
   public:
    explicit Holding(uint32_t group = 0) : group_(group) {}
    int64_t blocks() const { return named_ + nameless_; }
    int64_t named() const { return named_; }

   private:
    friend class BlockPool;
    struct Part {
      uint32_t copy = 0;
      uint32_t blocks = 0;  // including blocks that were split off the copy's front
    };
    uint32_t group_;
    std::vector<Part> parts_;
    int64_t named_ = 0, nameless_ = 0;
    // Position in the chain up to which blocks are named.
    std::size_t run_ = 0;
    int64_t in_run_ = 0;
  };

  struct Hits {
    int64_t blocks = 0;
    int64_t unheld = 0;  // how many of these are unreferenced
  };

  // Called when blocks [first / block_size, ...) of `text` under some chain have left the pool, last block
  // first.
  using Evicted = std::function<void(const BlockRun& run)>;

  // `caching` false: blocks get no names. `groups`: groups of layers, whose holdings and chains are
  // independent.
  BlockPool(int64_t blocks, int64_t block_size, bool caching, uint32_t groups = 1,
            int64_t retained_blocks = 0);
  // Sets the callback for evictions from now on.
  void on_eviction(Evicted evicted) { evicted_ = std::move(evicted); }

  int64_t total() const { return total_; }
  // Returns how many blocks can be taken: nameless free blocks and unreferenced cached blocks.
  int64_t free() const { return nameless_free_ + cached_; }
  int64_t cached() const { return cached_; }
  int64_t held() const { return total_ - free(); }
  int64_t nodes() const { return static_cast<int64_t>(nodes_.size() - groups_ - free_nodes_.size()); }

  // Returns the longest cached prefix of the chain, at most `most` blocks.
  Hits find(std::span<const BlockRun> chain, int64_t most, uint32_t group = 0) const;
  // Adds the first `blocks` blocks of the chain to an empty holding. REQUIRES: find() finds them.
  void hold(std::span<const BlockRun> chain, int64_t blocks, Holding& holding);
  // Adds `blocks` nameless blocks to the holding. REQUIRES: they are free.
  void take(int64_t blocks, Holding& holding);
  // Names the first `blocks` blocks of the holding. The chain may be longer than in the previous call.
  void name(std::span<const BlockRun> chain, int64_t blocks, Holding& holding);
  // Releases all blocks of the holding.
  void give_back(Holding& holding);

  // Recomputes every sum and reference from `holdings`, which must be complete. Aborts on a mismatch.
  void check(std::span<const Holding* const> holdings) const;

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Node {
    Key text = 0;
    int64_t first = 0;
    Key part = 0;
    int64_t part_first = 0;
    uint32_t blocks = 0;
    bool retained = false;
    uint32_t parent = kNone;
    uint32_t children = 0;
    uint32_t oldest = kNone, newest = kNone;  // copies
  };
  struct Copy {
    uint32_t node = kNone;
    uint32_t holders = 0;
    uint32_t newer = kNone;                   // the next copy of its node
    uint32_t front = kNone;                   // copy of the node that was split off its front
    uint32_t before = kNone, behind = kNone;  // neighbours in the eviction order, if unreferenced
  };

  Key child_key(uint32_t parent, Key text, int64_t first) const;
  uint32_t child(uint32_t parent, Key text, int64_t first) const {
    return children_.find(child_key(parent, text, first));
  }
  uint32_t add_node(uint32_t parent, const BlockRun& run, bool retained);
  void remove_node(uint32_t node);
  uint32_t add_copy(uint32_t node);
  void remove_copy(uint32_t copy);
  uint32_t split(uint32_t node, int64_t blocks);
  static const BlockRun& next_run(std::span<const BlockRun> chain, Holding& holding);
  void add_holder(uint32_t copy);
  void drop_holder(uint32_t copy);
  void link_last(uint32_t copy);
  void link_behind(uint32_t copy, uint32_t where);
  void unlink(uint32_t copy);
  uint32_t first_out() const { return out_[0].first != kNone ? out_[0].first : out_[1].first; }
  void evict(int64_t blocks);
  int64_t tokens(int64_t blocks) const { return blocks * block_size_; }

  int64_t total_, block_size_;
  bool caching_;
  uint32_t groups_;  // the first nodes: the root of each group's chains
  int64_t retained_blocks_;
  int64_t nameless_free_, cached_ = 0;
  std::vector<Node> nodes_;
  std::vector<Copy> copies_;
  std::vector<uint32_t> free_nodes_, free_copies_;
  KeyMap<uint32_t, kNone> children_;
  struct Ends {
    uint32_t first = kNone, last = kNone;
  };
  std::array<Ends, 2> out_;  // eviction order of normal copies, and of retained ones
  Evicted evicted_;
};

}  // namespace kvcap
