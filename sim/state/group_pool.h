// GroupPool: the blocks of a model whose layers form several groups (kv_groups.h), which share one pool and
// one eviction order.
//
// A request holds blocks in every group. A group needs only some positions of a sequence: its rule determines
// which blocks a running request drops, and which must be cached for a prompt to hit. So a holding has gaps.
// A dropped block returns to the pool but keeps its name, so it can still be hit, or evicted like any cached
// block:
//
//   - Before a request takes blocks, each group drops those that the next token does not need, from last to
//     first.
//   - A request releases its blocks group by group, each from last to first.
//   - A prompt's prefix hit ends at the last multiple of hit_tokens() at which every group has what it needs.
//   - With sparse checkpoints (Checkpoints::align) a step has one block for its last state and none for the
//     positions before. A state that a step carries past the end of its block is never found.
//
// The pool has a record per block: operations take O(blocks touched). Models with a single group that keeps
// all tokens use the faster BlockPool, which has the same rules.
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
  int64_t step_tokens = 2048;   // most tokens per request and step
  bool caching = true;          // false: blocks get no names
  int64_t retained_tokens = 0;  // blocks that begin before this position of a chain are evicted last
};

class GroupPool {
 public:
  class Holding {
   public:
    int64_t blocks() const { return blocks_; }
    // Returns how many tokens from the front need no further block in any group.
    int64_t tokens() const { return groups_.empty() ? 0 : until_; }

   private:
    friend class GroupPool;
    struct OfGroup {
      std::vector<uint32_t> blocks;  // by position; kNone: no block
      int64_t front = 0;             // positions before this were dropped or never needed
      int64_t held = 0;
    };
    std::vector<OfGroup> groups_;
    int64_t blocks_ = 0;
    int64_t until_ = 0;
    int64_t drops_at_ = 0;  // number of computed tokens at which the next block is dropped
    // Progress of naming along the chain, in units.
    int64_t named_ = 0;
    std::size_t run_ = 0;
    int64_t in_run_ = 0;
    Key key_ = 0;
  };

  struct Hits {
    int64_t tokens = 0;
    int64_t blocks = 0;
    int64_t unheld = 0;  // how many of these are unreferenced
    int64_t shared = 0;  // referenced blocks of groups that drop blocks (shared())
  };

  // Called when a block of `group` has left the pool; `last_unit` ends its name.
  using Evicted = std::function<void(std::size_t group, const BlockRun& last_unit)>;

  explicit GroupPool(const GroupPoolOptions& options);
  // Sets the callback for evictions from now on. REQUIRES: no block is named yet.
  void on_eviction(Evicted evicted);

  int64_t total() const { return total_; }
  int64_t free() const { return static_cast<int64_t>(nameless_.size()) + cached_; }
  int64_t cached() const { return cached_; }
  int64_t held() const { return total_ - free(); }
  // Returns the number of references beyond the first to blocks of groups that drop blocks. A request that
  // drops a shared block frees none, so this many blocks may be needed although no request's demand grows.
  int64_t shared() const { return shared_; }
  int64_t hit_tokens() const { return hit_tokens_; }

  // Returns what is cached of the chain, up to `most_tokens`. Chains are in units of layout.unit_tokens.
  Hits find(std::span<const BlockRun> chain, int64_t most_tokens) const;
  // Adds to an empty holding the blocks that are needed after the first `tokens` tokens. REQUIRES: find()
  // finds them.
  void hold(std::span<const BlockRun> chain, int64_t tokens, Holding& holding);

  // Returns the most blocks that a sequence of `tokens` tokens holds at any time.
  int64_t most_blocks(int64_t tokens) const;
  // Returns how many blocks of that maximum the request may still take, beyond those that it holds or has
  // found.
  int64_t owed_blocks(const Holding& holding, int64_t found_tokens, int64_t tokens) const;
  // Drops the blocks that are not needed after `computed` tokens and takes blocks up to `tokens`. Returns
  // false and takes none if too few are free.
  bool grow(int64_t computed, int64_t tokens, Holding& holding);
  // Returns an upper bound of the blocks needed to grow to `tokens`.
  int64_t missing_blocks(const Holding& holding, int64_t tokens) const;
  // Returns how many one-token steps after `computed` tokens drop no block.
  int64_t steps_before_drop(const Holding& holding, int64_t computed) const {
    return std::max<int64_t>(0, holding.drops_at_ - computed);
  }
  // Returns the smallest t > computed such that growth from t - 1 to t drops or takes a block.
  int64_t next_change(const Holding& holding, int64_t computed) const;
  // Takes the blocks needed after the first `tokens` tokens, which are loaded from elsewhere. REQUIRES: they
  // are free.
  void take_loaded(int64_t tokens, Holding& holding);
  // Names the full blocks of the first `tokens` tokens.
  void name(std::span<const BlockRun> chain, int64_t tokens, Holding& holding);
  int64_t named_tokens(const Holding& holding) const { return holding.named_ * unit_tokens_; }
  void give_back(Holding& holding);

  // Recomputes every sum and reference from `holdings`, which must be complete. Aborts on a mismatch.
  void check(std::span<const Holding* const> holdings) const;

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Group {
    KvGroup is;
    bool sparse = false;
    int64_t most_blocks = 0;        // maximum at any time
    int64_t units = 1;              // per block
    KeyMap<uint32_t, kNone> named;  // the oldest block per name
  };
  struct Block {
    Key name = 0;
    uint32_t group = kNone;  // kNone: nameless
    uint32_t holders = 0;
    uint32_t newer = kNone;                   // the next block with the same name
    uint32_t before = kNone, behind = kNone;  // neighbours in the eviction order, if unreferenced
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
  std::vector<BlockRun> last_units_;  // last unit of each block's name, if evictions are reported
  std::vector<uint32_t> nameless_;
  int64_t cached_ = 0, shared_ = 0;
  struct Ends {
    uint32_t first = kNone, last = kNone;
  };
  std::array<Ends, 2> out_;  // eviction order of normal blocks, and of retained ones
  Evicted evicted_;
  mutable std::vector<Key> keys_;  // keys of the chain being looked up, one per unit
};

}  // namespace kvcap
