// BlockPool: the KV memory of one engine as ONE pool of blocks, for running requests and for the prefix
// cache.
//
// A block holds the keys and values of block_size tokens. A request holds the blocks of its sequence; a full
// block gets a name, which is the chain of all tokens up to its end, and can then be found by requests whose
// prompts begin with the same chain. A block that nobody holds stays cached under its name until somebody
// needs the room: cached capacity is whatever running requests leave. As in vLLM V1
// (docs/design/prefix_caching.md):
//
//   - Blocks that two requests computed at the same time stay two blocks with one name; the older one is
//   found.
//   - A request gives its blocks back last block first. Nameless blocks are used first; then the named block
//     that nobody has held for the longest time is evicted. So tails are evicted before heads.
//   - The first so many blocks of every chain may be retained: they are evicted when nothing else is left
//     (a range of tokens at the beginning of prompts with a higher retention priority in TensorRT-LLM).
//
// The pool keeps a radix tree. A node is a run of blocks of one text that are reached through the same chain;
// its copies are the physical runs of blocks with that name, usually one. All blocks of a copy are held by
// the same requests. The copies that nobody holds form one list in the order of their release, deepest first,
// and eviction trims the tail of the first of them: every operation takes O(nodes touched), not O(blocks),
// and hits and evicted blocks are those of a pool that keeps a record of every block.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "base/key_map.h"

namespace kvcap {

// Tokens of a text from its token `first` on. A prompt is a list of them; equal runs after equal runs are
// equal.
struct TextRun {
  Key text = 0;
  int64_t first = 0;
  int64_t tokens = 0;
  Key part = 0;  // under which tiers below the GPU hold them
};

// Full blocks of a text, whose first one begins at the token `first` of it.
struct BlockRun {
  Key text = 0;
  int64_t first = 0;
  int64_t blocks = 0;
  // What the tiers call it, which names no block: the part, and how many of its tokens come before.
  Key part = 0;
  int64_t part_first = 0;
  bool operator==(const BlockRun& other) const {
    return text == other.text && first == other.first && blocks == other.blocks;
  }
};

// The full blocks of a sequence. A block that contains the end of one text and the beginning of the next is a
// run by itself, under a key made of its contents and with kSeveralTexts for its first token; it ends the
// part that it begins with. A text may be cut into several runs in a row.
inline constexpr int64_t kSeveralTexts = -1;
std::vector<BlockRun> block_runs(std::span<const TextRun> texts, int64_t block_size);

class BlockPool {
 public:
  // What one request holds: its blocks in order, first those with names, then those without.
  class Holding {
   public:
    explicit Holding(uint32_t group = 0) : group_(group) {}
    int64_t blocks() const { return named_ + nameless_; }
    int64_t named() const { return named_; }

   private:
    friend class BlockPool;
    struct Part {
      uint32_t copy = 0;
      uint32_t blocks = 0;  // of the copy, and if it has fewer by now, of those that were split off its front
    };
    uint32_t group_;
    std::vector<Part> parts_;
    int64_t named_ = 0, nameless_ = 0;
    // How far its chain has been named.
    std::size_t run_ = 0;
    int64_t in_run_ = 0;
  };

  struct Hits {
    int64_t blocks = 0;
    int64_t unheld = 0;  // of them, those that nobody holds
  };

  // Blocks [first / block_size, ...) of `text` under some chain left the pool, the last one first.
  using Evicted = std::function<void(const BlockRun& run)>;

  // `caching` false: no block gets a name. `groups`: of layers; holdings and chains of one never meet
  // another's.
  BlockPool(int64_t blocks, int64_t block_size, bool caching, uint32_t groups = 1,
            int64_t retained_blocks = 0);
  // Called for every eviction from now on.
  void on_eviction(Evicted evicted) { evicted_ = std::move(evicted); }

  int64_t total() const { return total_; }
  // Blocks that can be taken: nameless ones, and cached ones that nobody holds.
  int64_t free() const { return nameless_free_ + cached_; }
  int64_t cached() const { return cached_; }
  int64_t held() const { return total_ - free(); }
  int64_t nodes() const { return static_cast<int64_t>(nodes_.size() - groups_ - free_nodes_.size()); }

  // The longest run of blocks from the front of the chain that are there, at most `most` of them.
  Hits find(std::span<const BlockRun> chain, int64_t most, uint32_t group = 0) const;
  // A request without blocks holds the first `blocks` blocks of the chain. REQUIRES: find() finds them.
  void hold(std::span<const BlockRun> chain, int64_t blocks, Holding& holding);
  // The request takes so many nameless blocks. REQUIRES: they are free.
  void take(int64_t blocks, Holding& holding);
  // The first `blocks` blocks of the request, which it holds, get their names. The chain may have grown since
  // it was given last.
  void name(std::span<const BlockRun> chain, int64_t blocks, Holding& holding);
  // The request gives everything back.
  void give_back(Holding& holding);

  // Re-derives every sum and every reference; `holdings`: all that are held. Aborts when one is off.
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
    uint32_t front = kNone;                   // what was split off its front
    uint32_t before = kNone, behind = kNone;  // in the order of eviction, where nobody holds it
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
  uint32_t groups_;  // the first nodes: where the chains of each group begin
  int64_t retained_blocks_;
  int64_t nameless_free_, cached_ = 0;
  std::vector<Node> nodes_;
  std::vector<Copy> copies_;
  std::vector<uint32_t> free_nodes_, free_copies_;
  KeyMap<uint32_t, kNone> children_;
  struct Ends {
    uint32_t first = kNone, last = kNone;
  };
  std::array<Ends, 2> out_;  // of the order of eviction, and of that of what is retained
  Evicted evicted_;
};

}  // namespace kvcap
