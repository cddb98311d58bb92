// KvPool: the GPU's blocks in the scheduler's terms: tokens of sequences, for any groups of layers.
//
// It wraps a BlockPool for models with a single group that keeps all tokens, and a GroupPool for all others.
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

// The blocks of one request.
class KvHolding {
 public:
  int64_t blocks() const { return runs_.blocks() + groups_.blocks(); }

 private:
  friend class KvPool;
  BlockPool::Holding runs_;
  GroupPool::Holding groups_;
};

// Result of a prefix cache lookup.
struct KvHits {
  int64_t tokens = 0;
  int64_t unheld = 0;  // unreferenced blocks
  int64_t shared = 0;  // GroupPool::Hits::shared
};

// Growth by one token per step of a request that has computed `computed` tokens. Full blocks up to `nameable`
// tokens are named as they fill, because a block that is dropped without a name is lost; with an empty chain
// none is named.
struct KvGrowth {
  KvHolding* holding = nullptr;
  int64_t computed = 0;
  std::span<const BlockRun> chain = {};
  int64_t nameable = 0;
};

class KvPool {
 public:
  explicit KvPool(const GroupPoolOptions& options);
  // Sets the callback for evicted blocks of a text, last block first. With several groups only the blocks of
  // the first group are reported, each by its last unit.
  void on_eviction(BlockPool::Evicted evicted);

  int64_t total() const { return groups_ ? groups_->total() : runs_.total(); }
  int64_t free() const { return groups_ ? groups_->free() : runs_.free(); }
  int64_t held() const { return total() - free(); }
  int64_t cached() const { return groups_ ? groups_->cached() : runs_.cached(); }
  int64_t shared() const { return groups_ ? groups_->shared() : 0; }
  // Returns the number of records that check() visits.
  int64_t records() const { return groups_ ? groups_->total() : runs_.nodes(); }
  // unit_tokens(): tokens per block of a chain. hit_tokens(): prefix hits end at multiples of it.
  int64_t unit_tokens() const { return unit_tokens_; }
  int64_t hit_tokens() const { return groups_ ? groups_->hit_tokens() : unit_tokens_; }

  KvHits find(std::span<const BlockRun> chain, int64_t most_tokens) const;
  // Adds the blocks that find() found to an empty holding.
  void hold(std::span<const BlockRun> chain, int64_t tokens, KvHolding& holding);
  // Returns the most blocks that a sequence of `tokens` tokens holds at any time.
  int64_t most_blocks(int64_t tokens) const {
    return groups_ ? groups_->most_blocks(tokens) : (tokens + unit_tokens_ - 1) / unit_tokens_;
  }
  // Returns how many blocks of that maximum are neither held nor found; 0 or less means none.
  int64_t owed_blocks(const KvHolding& holding, int64_t found_tokens, int64_t tokens) const {
    if (groups_) return groups_->owed_blocks(holding.groups_, found_tokens, tokens);
    return most_blocks(tokens) - holding.runs_.blocks() - found_tokens / unit_tokens_;
  }
  // Returns how many tokens from the front need no further block.
  int64_t tokens(const KvHolding& holding) const {
    return groups_ ? holding.groups_.tokens() : holding.runs_.blocks() * unit_tokens_;
  }
  // Takes blocks for the tokens from `computed` to `tokens`. Returns false and takes none if too few are
  // free.
  bool grow(int64_t computed, int64_t tokens, KvHolding& holding) {
    if (groups_) return groups_->grow(computed, tokens, holding.groups_);
    const int64_t needed = missing_blocks(holding, tokens);
    if (needed > runs_.free()) return false;
    if (needed > 0) runs_.take(needed, holding.runs_);
    return true;
  }
  // Grows each request by one token per step, in this order. Calls `begins` with the number of the step, from
  // 1 on, before the step takes blocks. REQUIRES: the sum of missing_blocks() is free.
  void grow_by_steps(std::span<const KvGrowth> requests, int64_t steps,
                     const std::function<void(int64_t)>& begins = nullptr);
  // Returns how many one-token steps after `computed` tokens drop no block.
  int64_t steps_before_drop(const KvHolding& holding, int64_t computed) const {
    return groups_ ? groups_->steps_before_drop(holding.groups_, computed)
                   : std::numeric_limits<int64_t>::max();
  }
  // Returns an upper bound of the blocks needed to grow to `tokens`.
  int64_t missing_blocks(const KvHolding& holding, int64_t tokens) const {
    // The common case, without a division.
    if (tokens <= this->tokens(holding)) return 0;
    if (groups_) return groups_->missing_blocks(holding.groups_, tokens);
    return most_blocks(tokens) - holding.runs_.blocks();
  }
  // Takes blocks for the first `tokens` tokens, which a tier loads. REQUIRES: they are free.
  void take_loaded(int64_t tokens, KvHolding& holding);
  // Names the full blocks of the first `tokens` tokens.
  void name(std::span<const BlockRun> chain, int64_t tokens, KvHolding& holding);
  int64_t named_tokens(const KvHolding& holding) const;
  void give_back(KvHolding& holding);

  // Returns how many of `tokens` tokens after `computed`, of `known` ones, a step computes: with
  // Checkpoints::align a prefill slice ends at a block end as long as a full block remains.
  int64_t cut_slice(int64_t computed, int64_t known, int64_t tokens) const;

  void check(std::span<const KvHolding* const> holdings) const;

 private:
  // Returns the smallest number of tokens above `computed` for which blocks are taken or dropped.
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
