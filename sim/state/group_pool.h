// GroupPool: the blocks of a model whose layers form several groups (kv_groups.h), which share one pool and
// one order of eviction.
//
// A request holds blocks in every group. A group needs only some positions of a sequence: its rule says which
// blocks are dropped while the request runs, and which must be there for a prompt to be found. So a holding
// has gaps. What is dropped keeps its name, and can be found or evicted like any cached block:
//
//   - Before a request takes blocks, each group drops those that the next token does not need, the last one
//     first.
//   - A request gives its blocks back group by group, the last one first.
//   - A prompt is found up to the longest multiple of hit_tokens() at which every group has what it needs.
//   - With sparse checkpoints (Checkpoints::align) a step has one block for its last state, none for the
//     positions between. A state that a step carries past the end of its block is never found.
//
// The pool keeps a record of every block: operations take O(blocks touched). A model of one group that keeps
// all tokens has the faster BlockPool, with the same rules.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "base/key_map.h"
#include "spec/kv_groups.h"
#include "state/block_pool.h"

namespace kvcap {

struct GroupPoolOptions {
  int64_t blocks = 0;
  KvLayout layout;
  Checkpoints checkpoints = Checkpoints::align;
  int64_t step_tokens = 2048;   // at most so many of one request in a step
  bool caching = true;          // false: no block gets a name
  int64_t retained_tokens = 0;  // blocks that begin within so many tokens of a chain leave after all others
};

class GroupPool {
 public:
  class Holding {
   public:
    int64_t blocks() const { return blocks_; }
    // Tokens from the front for which no group needs another block.
    int64_t tokens() const { return groups_.empty() ? 0 : until_; }

   private:
    friend class GroupPool;
    struct OfGroup {
      std::vector<uint32_t> blocks;  // by position; kNone: no block there
      int64_t front = 0;             // positions before it have been dropped, or were never needed
      int64_t held = 0;
    };
    std::vector<OfGroup> groups_;
    int64_t blocks_ = 0;
    int64_t until_ = 0;
    int64_t drops_at_ = 0;  // computed tokens at which the next block is dropped
    // How far its chain has been named, in units.
    int64_t named_ = 0;
    std::size_t run_ = 0;
    int64_t in_run_ = 0;
    Key key_ = 0;
  };

  struct Hits {
    int64_t tokens = 0;
    int64_t blocks = 0;
    int64_t unheld = 0;  // of them, those that nobody holds
    int64_t shared = 0;  // held blocks of groups that drop theirs (shared())
  };

  // A block of the group left the pool whose name ends with this unit.
  using Evicted = std::function<void(std::size_t group, const BlockRun& last_unit)>;

  explicit GroupPool(const GroupPoolOptions& options);
  // Called for every eviction from now on. REQUIRES: no block has a name yet.
  void on_eviction(Evicted evicted);

  int64_t total() const { return total_; }
  int64_t free() const { return static_cast<int64_t>(nameless_.size()) + cached_; }
  int64_t cached() const { return cached_; }
  int64_t held() const { return total_ - free(); }
  // Holders beyond the first of blocks that their requests will drop: so many blocks may be needed again
  // although what requests need does not grow.
  int64_t shared() const { return shared_; }
  int64_t hit_tokens() const { return hit_tokens_; }

  // Chains are in units of layout.unit_tokens. At most `most_tokens` of the chain.
  Hits find(std::span<const BlockRun> chain, int64_t most_tokens) const;
  // A request without blocks holds what it needs behind the first `tokens` tokens. REQUIRES: find() finds
  // them.
  void hold(std::span<const BlockRun> chain, int64_t tokens, Holding& holding);

  // The most blocks that a sequence of `tokens` tokens holds at a time.
  int64_t most_blocks(int64_t tokens) const;
  // Of those, what it may still need: beyond what it holds, and beyond what was found of it.
  int64_t owed_blocks(const Holding& holding, int64_t found_tokens, int64_t tokens) const;
  // Drops what is not needed behind `computed` tokens, and takes the blocks up to `tokens`. False: they are
  // not free, and none is taken.
  bool grow(int64_t computed, int64_t tokens, Holding& holding);
  // Blocks that it takes at most to grow to `tokens`.
  int64_t missing_blocks(const Holding& holding, int64_t tokens) const;
  // Steps of one token each behind `computed` ones that drop no block.
  int64_t steps_before_drop(const Holding& holding, int64_t computed) const {
    return std::max<int64_t>(0, holding.drops_at_ - computed);
  }
  // The least t > computed for which growing from t - 1 to t drops or takes a block.
  int64_t next_change(const Holding& holding, int64_t computed) const;
  // The first `tokens` tokens come from elsewhere: takes the blocks that are needed behind them.
  // REQUIRES: they are free.
  void take_loaded(int64_t tokens, Holding& holding);
  // The full blocks of the first `tokens` tokens get their names.
  void name(std::span<const BlockRun> chain, int64_t tokens, Holding& holding);
  int64_t named_tokens(const Holding& holding) const { return holding.named_ * unit_tokens_; }
  void give_back(Holding& holding);

  // Re-derives every sum and every reference; `holdings`: all that are held. Aborts when one is off.
  void check(std::span<const Holding* const> holdings) const;

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Group {
    KvGroup is;
    bool sparse = false;
    int64_t most_blocks = 0;        // at a time
    int64_t units = 1;              // of a block
    KeyMap<uint32_t, kNone> named;  // the oldest block with a name
  };
  struct Block {
    Key name = 0;
    uint32_t group = kNone;  // kNone: it has no name
    uint32_t holders = 0;
    uint32_t newer = kNone;                   // the next block with its name
    uint32_t before = kNone, behind = kNone;  // in the order of eviction, where nobody holds it
    bool passed = false;                      // a state was carried past its end
    bool retained = false;
  };

  void read_keys(std::span<const BlockRun> chain, int64_t units) const;
  uint32_t named_block(const Group& group, int64_t position) const;
  int64_t longest(const Group& group, int64_t tokens) const;
  int64_t growth(const Group& group, const Holding::OfGroup& of, int64_t tokens) const;
  void open(Holding& holding) const;
  void settle(int64_t computed, Holding& holding) const;
  void drop(int64_t computed, Holding& holding);
  void take_up_to(int64_t from, int64_t tokens, bool only_last, const Group& group, Holding::OfGroup& of);
  uint32_t take();
  void add_holder(const Group& group, uint32_t block);
  void drop_holder(const Group& group, uint32_t block);
  void set_name(std::size_t group, uint32_t block, Key name, const BlockRun& unit, bool retained);
  void forget_name(uint32_t block);
  void link_last(uint32_t block);
  void unlink(uint32_t block);
  uint32_t first_out() const { return out_[0].first != kNone ? out_[0].first : out_[1].first; }

  int64_t total_, unit_tokens_, hit_tokens_, retained_tokens_;
  bool caching_;
  std::vector<Group> groups_;
  std::vector<Block> blocks_;
  std::vector<BlockRun> last_units_;  // of each block, where evictions are reported
  std::vector<uint32_t> nameless_;
  int64_t cached_ = 0, shared_ = 0;
  struct Ends {
    uint32_t first = kNone, last = kNone;
  };
  std::array<Ends, 2> out_;  // of the order of eviction, and of that of what is retained
  Evicted evicted_;
  mutable std::vector<Key> keys_;  // of the chain that is looked up, one for each unit
};

}  // namespace kvcap
