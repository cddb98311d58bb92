// KvPool: the KV memory of one engine, a single pool of blocks that running requests and the prefix cache
// share. The layers of a model form one or several groups (kv_groups.h).
//
// A block holds the keys and values of block_tokens tokens for the layers of one group. A request holds
// blocks in every group. A full block gets a name, which stands for all tokens up to its end (vLLM's block
// hash), so requests whose prompts begin with these tokens hit it. An unreferenced block stays cached
// under its name until its room is needed, so the cache uses all memory that running requests leave. As in
// vLLM V1 (docs/design/prefix_caching.md, docs/design/hybrid_kv_cache_manager.md):
//
//   - Blocks that two requests computed concurrently remain two blocks with one name; lookups find the
//     older one.
//   - Nameless free blocks are taken first; then the named block that has been unreferenced for the longest
//     time is evicted. A request releases its blocks group by group, each from last to first, so tails are
//     evicted before heads.
//   - Blocks may have priorities by their position (retention.h): the lowest is evicted first.
//   - A group needs only some positions of a sequence: its rule says which blocks a running request drops
//     before it takes more, from last to first, and which must be cached for a prompt to hit. A dropped block
//     keeps its name. A hit ends at the last multiple of hit_tokens() at which every group has what it needs.
//   - With sparse checkpoints (Checkpoints::align) a step has one block for its last state and none for the
//     positions before. A state that a step carries past the end of its block is never found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "spec/kv_groups.h"
#include "state/block_runs.h"
#include "state/chain_tree.h"
#include "state/named_blocks.h"
#include "state/retention.h"

namespace kvcap {

struct KvPoolOptions {
  int64_t blocks = 0;
  KvLayout layout;
  Checkpoints checkpoints = Checkpoints::align;
  int64_t step_tokens = 2048;  // most tokens per request and step
  bool caching = true;         // false: blocks get no names
  Retention retention;
  std::function<double()> now_s;  // the time; called only if the retention has durations
};

// The blocks of one request.
class KvHolding {
 public:
  int64_t blocks() const { return blocks_; }

 private:
  friend class KvPool;
  // Consecutive blocks [begin, end) of a group.
  struct Piece {
    int64_t begin = 0, end = 0;
    uint32_t copy = NamedBlocks::kNone;  // copy of the last block; kNone: the blocks have no name
    bool passed = false;                 // checkpoints: a step carried the state past the block's end
  };
  struct OfGroup {
    std::vector<Piece> pieces;  // in order, with gaps
    int64_t front = 0;          // blocks before this were dropped or never needed
    int64_t end = 0;            // blocks from this on are not yet needed
    int64_t held = 0;
  };
  std::vector<OfGroup> groups_;
  int64_t blocks_ = 0;
  int64_t until_ = 0;     // number of leading tokens for which all groups have blocks
  int64_t drops_at_ = 0;  // number of computed tokens at which the next block is dropped
  // Progress of naming along the chain.
  int64_t named_units_ = 0;
  uint32_t node_ = ChainTree::kRoot;
  std::size_t run_ = 0;
  int64_t in_run_ = 0;
};

// Result of a prefix cache lookup.
struct KvHits {
  int64_t tokens = 0;
  int64_t unheld = 0;  // unreferenced blocks
  int64_t shared = 0;  // held blocks of groups that drop blocks (KvPool::shared())
};

// A request that has computed `computed` tokens and grows by one token per step. Full blocks up to `nameable`
// tokens are named as they fill, because a block that is dropped without a name is lost. With an empty chain,
// no block is named.
struct KvGrowth {
  KvHolding* holding = nullptr;
  int64_t computed = 0;
  std::span<const BlockRun> chain = {};
  int64_t nameable = 0;
  int64_t prompt_tokens = std::numeric_limits<int64_t>::max();  // as in name()
};

class KvPool {
 public:
  // Called when blocks of `group` have left the pool, last block first. `run` names them; a block of several
  // units is named by its last unit.
  using Evicted = std::function<void(std::size_t group, const BlockRun& run, int64_t priority)>;

  explicit KvPool(const KvPoolOptions& options);
  KvPool(const KvPool&) = delete;
  KvPool& operator=(const KvPool&) = delete;
  void on_eviction(Evicted evicted);

  int64_t total() const { return total_; }
  // Returns how many blocks can be taken: nameless free blocks and cached blocks.
  int64_t free() const { return nameless_free_ + named_.cached(); }
  int64_t held() const { return total() - free(); }
  int64_t cached() const { return named_.cached(); }
  // Returns the number of references beyond the first to blocks of groups that drop blocks. Dropping a shared
  // block frees no block, so up to this many blocks may be needed although no request's demand grows.
  int64_t shared() const { return named_.shared(); }
  // True iff all layers keep every token, in blocks of unit_tokens().
  bool is_plain() const { return groups_.size() == 1 && !drops_; }
  // Returns the number of records that check() visits.
  int64_t records() const { return static_cast<int64_t>(named_.cells()); }
  // unit_tokens(): tokens per block of a chain. hit_tokens(): prefix hits end at multiples of this number.
  int64_t unit_tokens() const { return unit_tokens_; }
  int64_t hit_tokens() const { return hit_tokens_; }

  // Returns the longest usable prefix of the chain in the cache, up to `most_tokens`.
  KvHits find(std::span<const BlockRun> chain, int64_t most_tokens) const;
  // Adds to an empty holding the blocks that are needed after the first `tokens` tokens. REQUIRES: find() has
  // found them.
  void hold(std::span<const BlockRun> chain, int64_t tokens, KvHolding& holding);
  // Returns the most blocks that a sequence of `tokens` tokens holds at any time.
  int64_t most_blocks(int64_t tokens) const;
  // Returns how many of most_blocks() the request may still take: those that it neither holds nor has found.
  int64_t owed_blocks(const KvHolding& holding, int64_t found_tokens, int64_t tokens) const;
  // Returns for how many leading tokens the request has blocks in all groups.
  int64_t tokens(const KvHolding& holding) const { return holding.until_; }
  // Drops the blocks that are not needed after `computed` tokens and takes blocks up to `tokens`. Returns
  // false and takes none if too few are free.
  bool grow(int64_t computed, int64_t tokens, KvHolding& holding) {
    const bool suffices = computed < holding.drops_at_ && tokens <= holding.until_;  // the common case first
    return suffices || drop_and_take(computed, tokens, holding);
  }
  // Grows each request by one token per step, in this order. Calls `begins` with the number of the step, from
  // 1 on, before the step takes blocks. REQUIRES: as many blocks are free as the sum of missing_blocks().
  void grow_by_steps(std::span<const KvGrowth> requests, int64_t steps,
                     const std::function<void(int64_t)>& begins = nullptr);
  // Returns how many one-token steps after `computed` tokens drop no block.
  int64_t steps_before_drop(const KvHolding& holding, int64_t computed) const {
    return drops_ ? std::max<int64_t>(0, holding.drops_at_ - computed) : std::numeric_limits<int64_t>::max();
  }
  // Returns how many one-token steps after `computed` tokens take and drop no block, or fewer.
  int64_t steps_before_change(const KvHolding& holding, int64_t computed) const {
    return next_change(holding, computed) - computed - 1;
  }
  // Returns an upper bound of the blocks needed to grow to `tokens`.
  int64_t missing_blocks(const KvHolding& holding, int64_t tokens) const {
    return tokens <= holding.until_ ? 0 : missing_after(holding, tokens);  // the common case first
  }
  // Takes the blocks that are needed after the first `tokens` tokens, whose state is loaded from a tier.
  // REQUIRES: enough blocks are free.
  void take_loaded(int64_t tokens, KvHolding& holding);
  // Names the full blocks of the first `tokens` tokens. The chain may be longer than in the previous call.
  // Blocks that begin after `prompt_tokens` get the priority of decoded tokens.
  void name(std::span<const BlockRun> chain, int64_t tokens, KvHolding& holding,
            int64_t prompt_tokens = std::numeric_limits<int64_t>::max()) {
    if (names_more(holding, tokens)) name_full(chain, tokens, holding, prompt_tokens);
  }
  // False: the first `tokens` tokens fill no block that has no name yet.
  bool names_more(const KvHolding& holding, int64_t tokens) const {
    return caching_ && tokens >= named_tokens(holding) + unit_tokens_;
  }
  // Resets the priority of blocks whose duration is over. Call this before the blocks of a step are taken.
  void expire() { named_.expire(); }
  bool has_durations() const { return retention_.has_durations(); }
  int64_t named_tokens(const KvHolding& holding) const { return holding.named_units_ * unit_tokens_; }
  void give_back(KvHolding& holding);

  // Returns how many of the next `tokens` tokens a step computes if `computed` of `known` tokens have been
  // computed: with Checkpoints::align, a prefill slice ends at the end of a block as long as a full block
  // remains.
  int64_t cut_slice(int64_t computed, int64_t known, int64_t tokens) const {
    return checkpoint_tokens_ == 0 ? tokens : cut_at_checkpoint(computed, known, tokens);
  }

  // Recomputes every sum and reference from `holdings`, which must be complete. Aborts on a mismatch.
  void check(std::span<const KvHolding* const> holdings) const;

 private:
  using Piece = KvHolding::Piece;
  using OfGroup = KvHolding::OfGroup;
  using Stretch = ChainTree::Stretch;
  static constexpr uint32_t kNone = NamedBlocks::kNone;
  struct Group {
    KvGroup is;
    bool sparse = false;
    bool alike = false;       // equal to the group before it: every request needs the same blocks in both
    int64_t most_blocks = 0;  // maximum at any time
    int64_t units = 1;        // per block

    // Returns how many blocks `tokens` tokens fill, the last one perhaps in part.
    int64_t blocks_of(int64_t tokens) const { return (tokens + is.block_tokens - 1) / is.block_tokens; }
    // Return the range [first, last) of the group's blocks that end in a stretch.
    int64_t first_in(const Stretch& stretch) const { return stretch.begin / units; }
    int64_t last_in(const Stretch& stretch) const { return stretch.end / units; }
  };

  void add_group(KvGroup is, const KvPoolOptions& options);
  void walk(std::span<const BlockRun> chain, int64_t units) const;
  int64_t longest(uint32_t g, int64_t tokens) const;
  int64_t named_from_start(uint32_t g, int64_t end) const;
  int64_t named_down_to(uint32_t g, int64_t begin, int64_t end) const;
  int64_t next_named_end(uint32_t g, int64_t at) const;
  void count(uint32_t g, KvHits& hits) const;
  int64_t missing_after(const KvHolding& holding, int64_t tokens) const;
  Stretch advance(std::span<const BlockRun> chain, int64_t most, KvHolding& holding);
  // The retention level of a block, which applies to all blocks before `until`. No level: the block is in no
  // range.
  struct LevelUntil {
    std::optional<RetentionLevel> level;
    int64_t until = 0;
  };
  LevelUntil prompt_level(const Group& group, int64_t block) const;
  LevelUntil level_of(const Group& group, int64_t block, int64_t prompt_tokens) const;
  void hold_stretch(const Stretch& stretch, KvHolding& holding);
  void name_full(std::span<const BlockRun> chain, int64_t tokens, KvHolding& holding, int64_t prompt_tokens);
  void name_stretch(const Stretch& stretch, uint32_t g, int64_t prompt_tokens, std::vector<Piece>& pieces);
  std::size_t name_piece(uint32_t node, uint32_t g, int64_t end, int64_t prompt_tokens,
                         std::vector<Piece>& pieces, std::size_t i);
  int64_t growth(const Group& group, const OfGroup& of, int64_t tokens) const;
  int64_t next_change(const KvHolding& holding, int64_t computed) const {
    return std::max(computed, std::min(holding.until_, holding.drops_at_)) + 1;
  }
  void leave_node(uint32_t node) {
    if (node != ChainTree::kRoot) tree_.release(node);
  }
  int64_t cut_at_checkpoint(int64_t computed, int64_t known, int64_t tokens) const;
  void open(KvHolding& holding) const;
  void settle(int64_t computed, KvHolding& holding) const;
  void take(int64_t blocks);
  void release(const Piece& piece, int64_t begin, int64_t end);
  void drop(int64_t computed, KvHolding& holding);
  bool drop_and_take(int64_t computed, int64_t tokens, KvHolding& holding);
  bool take_up_to(int64_t computed, int64_t tokens, KvHolding& holding);
  int64_t add_blocks(int64_t begin, int64_t tokens, const Group& group, OfGroup& of);
  std::vector<uint32_t> check_holders(std::span<const KvHolding* const> holdings) const;
  void check_heads() const;

  int64_t total_, nameless_free_, unit_tokens_, hit_tokens_;
  int64_t checkpoint_tokens_ = 0;  // 0: slices are not cut
  bool caching_;
  bool drops_ = false;  // some group drops blocks
  std::vector<Group> groups_;
  Retention retention_;
  ChainTree tree_;
  NamedBlocks named_;
  using Event = std::pair<int64_t, std::size_t>;  // step, request
  std::vector<Event> events_;                     // scratch of grow_by_steps(), a heap
  mutable std::vector<Stretch> path_;             // of the chain that is looked up
};

}  // namespace kvcap
