// KvPool: the GPU's blocks as a scheduler sees them: in tokens of sequences, whatever the groups of layers.
//
// A model of one group that keeps all tokens has a BlockPool, every other one a GroupPool.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "spec/kv_groups.h"
#include "state/block_pool.h"
#include "state/group_pool.h"

namespace kvcap {

// What one request holds.
class KvHolding {
 public:
  int64_t blocks() const { return runs_.blocks() + groups_.blocks(); }

 private:
  friend class KvPool;
  BlockPool::Holding runs_;
  GroupPool::Holding groups_;
};

// What the prefix cache has of a prompt.
struct KvHits {
  int64_t tokens = 0;
  int64_t unheld = 0;  // blocks that nobody holds
  int64_t shared = 0;  // GroupPool::Hits::shared
};

// A request that computes `computed` tokens before its next one, step after step. Its blocks get their names
// as they are full, up to `nameable` tokens, since one that is dropped without a name is lost; an empty chain
// names none.
struct KvGrowth {
  KvHolding* holding = nullptr;
  int64_t computed = 0;
  std::span<const BlockRun> chain = {};
  int64_t nameable = 0;
};

class KvPool {
 public:
  explicit KvPool(const GroupPoolOptions& options);
  // Blocks of a text left the pool, the last one first. Of several groups the first one reports, unit by
  // unit.
  void on_eviction(BlockPool::Evicted evicted);

  int64_t total() const { return groups_ ? groups_->total() : runs_.total(); }
  int64_t free() const { return groups_ ? groups_->free() : runs_.free(); }
  int64_t held() const { return total() - free(); }
  int64_t cached() const { return groups_ ? groups_->cached() : runs_.cached(); }
  int64_t shared() const { return groups_ ? groups_->shared() : 0; }
  // Records that check() visits.
  int64_t records() const { return groups_ ? groups_->total() : runs_.nodes(); }
  // Chains are in blocks of so many tokens; and prompts are found up to a multiple of so many.
  int64_t unit_tokens() const { return unit_tokens_; }
  int64_t hit_tokens() const { return groups_ ? groups_->hit_tokens() : unit_tokens_; }

  KvHits find(std::span<const BlockRun> chain, int64_t most_tokens) const;
  // A request without blocks holds what find() found.
  void hold(std::span<const BlockRun> chain, int64_t tokens, KvHolding& holding);
  // The most blocks that a sequence of `tokens` tokens holds at a time.
  int64_t most_blocks(int64_t tokens) const {
    return groups_ ? groups_->most_blocks(tokens) : (tokens + unit_tokens_ - 1) / unit_tokens_;
  }
  // Of those, what is not held and was not found yet. Zero or less: none.
  int64_t owed_blocks(const KvHolding& holding, int64_t found_tokens, int64_t tokens) const {
    if (groups_) return groups_->owed_blocks(holding.groups_, found_tokens, tokens);
    return most_blocks(tokens) - holding.runs_.blocks() - found_tokens / unit_tokens_;
  }
  // Tokens from the front that need no further block.
  int64_t tokens(const KvHolding& holding) const {
    return groups_ ? holding.groups_.tokens() : holding.runs_.blocks() * unit_tokens_;
  }
  // Blocks for the tokens from `computed` to `tokens`. False: they are not free, and none is taken.
  bool grow(int64_t computed, int64_t tokens, KvHolding& holding) {
    if (groups_) return groups_->grow(computed, tokens, holding.groups_);
    const int64_t needed = missing_blocks(holding, tokens);
    if (needed > runs_.free()) return false;
    if (needed > 0) runs_.take(needed, holding.runs_);
    return true;
  }
  // Each of them grows by a token a step, in this order. `begins`: called with the number of a step, from 1
  // on, before blocks are taken in it. REQUIRES: the sum of missing_blocks() is free.
  void grow_by_steps(std::span<const KvGrowth> requests, int64_t steps,
                     const std::function<void(int64_t)>& begins = nullptr);
  // Steps of one token each behind `computed` ones that drop no block.
  int64_t steps_before_drop(const KvHolding& holding, int64_t computed) const {
    return groups_ ? groups_->steps_before_drop(holding.groups_, computed)
                   : std::numeric_limits<int64_t>::max();
  }
  // Blocks that it takes at most to grow to `tokens`.
  int64_t missing_blocks(const KvHolding& holding, int64_t tokens) const {
    // Nearly always, and without a division.
    if (tokens <= this->tokens(holding)) return 0;
    if (groups_) return groups_->missing_blocks(holding.groups_, tokens);
    return most_blocks(tokens) - holding.runs_.blocks();
  }
  // The first `tokens` tokens come from a tier. REQUIRES: the blocks for them are free.
  void take_loaded(int64_t tokens, KvHolding& holding);
  // The full blocks of the first `tokens` tokens get their names.
  void name(std::span<const BlockRun> chain, int64_t tokens, KvHolding& holding);
  int64_t named_tokens(const KvHolding& holding) const;
  void give_back(KvHolding& holding);

  // Of `tokens` tokens behind `computed` of `known` ones, so many that a step shall compute: with
  // Checkpoints::align a prefill slice ends at the end of a block, as long as a full block is left.
  int64_t cut_slice(int64_t computed, int64_t known, int64_t tokens) const;

  void check(std::span<const KvHolding* const> holdings) const;

 private:
  // The least number of tokens behind `computed` ones for which blocks are taken or dropped.
  int64_t next_change(const KvHolding& holding, int64_t computed) const {
    if (groups_) return groups_->next_change(holding.groups_, computed);
    return std::max(computed, tokens(holding)) + 1;
  }

  int64_t unit_tokens_;
  int64_t checkpoint_tokens_ = 0;  // 0: slices are not cut
  BlockPool runs_;
  std::optional<GroupPool> groups_;
};

}  // namespace kvcap
