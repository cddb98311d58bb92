// A pool whose blocks several groups of layers share, written from the rules alone: every group is asked, for
// every token, whether it needs it. Nothing here is fast, and nothing here is clever.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/literal_pool.h"
#include "spec/kv_groups.h"
#include "state/retention.h"

namespace kvcap::reference {

// Names of the full blocks of a sequence, by group and position.
using BlockNames = std::vector<std::vector<Chain>>;

struct LiteralRequest {
  BlockNames names;
  std::vector<std::vector<LiteralPool::Block>> blocks;  // by group and position; kNoBlock: none
  std::vector<std::vector<bool>> kept;                  // by group and position: may get a name
  int64_t computed = 0;
};

class LiteralGroups {
 public:
  LiteralGroups(int64_t blocks, std::vector<KvGroup> groups, Checkpoints checkpoints, bool caching = true,
                Retention retention = {})
      : pool_(blocks, caching),
        groups_(std::move(groups)),
        checkpoints_(checkpoints),
        retention_(std::move(retention)) {}

  const LiteralPool& pool() const { return pool_; }
  LiteralPool& pool() { return pool_; }
  struct Evicted {
    std::size_t group = 0;
    Token last;
    int64_t blocks = 0;  // of its chain
    auto operator<=>(const Evicted&) const = default;
  };
  std::vector<Evicted> evicted() const {
    std::vector<Evicted> all;
    for (Chain chain : pool_.evicted()) {
      const auto g = static_cast<std::size_t>(chain) % groups_.size();
      const Chain of_group = chain / std::ssize(groups_);
      all.push_back({g, chains_.last_token(of_group), chains_.blocks(of_group)});
    }
    return all;
  }

  BlockNames names_of(const std::vector<Token>& tokens) {
    BlockNames names;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      names.push_back(chains_.of(tokens, groups_[g].block_tokens));
      for (Chain& chain : names.back()) chain = chain * std::ssize(groups_) + static_cast<Chain>(g);
    }
    return names;
  }

  struct Hits {
    int64_t tokens = 0;
    int64_t unheld = 0;
  };
  // The longest prefix of at most `most` tokens behind which every group has every block that it needs.
  Hits find(const std::vector<Token>& tokens, int64_t most) { return find(names_of(tokens), most); }
  Hits find(const BlockNames& names, int64_t most) const {
    for (int64_t end = most; end > 0; --end) {
      Hits hits{end, 0};
      bool all = true;
      for (std::size_t g = 0; g < groups_.size() && all; ++g) {
        all = end % groups_[g].block_tokens == 0;
        for (int64_t at = 0; all && at < end / groups_[g].block_tokens; ++at) {
          if (!needs_block(groups_[g], end, at)) continue;
          const LiteralPool::Block block = pool_.find(names[g][static_cast<std::size_t>(at)]);
          all = block != LiteralPool::kNoBlock;
          if (all) hits.unheld += pool_.is_free(block);
        }
      }
      if (all) return hits;
    }
    return {};
  }

  LiteralRequest begin(const std::vector<Token>& tokens, int64_t found) {
    return begin(names_of(tokens), found);
  }
  LiteralRequest begin(const BlockNames& names, int64_t found) {
    LiteralRequest request;
    request.names = names;
    request.computed = found;
    request.blocks.resize(groups_.size());
    request.kept.resize(groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (int64_t at = 0; at < found / groups_[g].block_tokens; ++at) {
        LiteralPool::Block block = LiteralPool::kNoBlock;
        if (needs_block(groups_[g], found, at)) {
          block = pool_.find(names[g][static_cast<std::size_t>(at)]);
          pool_.hold(block, level_of_prompt(static_cast<int64_t>(at) * groups_[g].block_tokens));
        }
        request.blocks[g].push_back(block);
        request.kept[g].push_back(true);
      }
    }
    return request;
  }

  // One step computes tokens up to `end`. False: there is no room.
  bool compute(LiteralRequest& request, int64_t end) {
    if (!grow(request, end)) return false;
    name(request, end);
    return true;
  }

  // Without names.
  bool grow(LiteralRequest& request, int64_t end) {
    drop(request);
    int64_t needed = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) needed += std::ssize(new_positions(request, g, end));
    if (needed > pool_.free()) return false;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const int64_t size = groups_[g].block_tokens;
      const auto fresh = new_positions(request, g, end);
      // A state in the middle of a block is carried on; its block ends without a state.
      if (is_sparse(g) && !fresh.empty() && request.computed % size != 0) request.kept[g].back() = false;
      while (std::ssize(request.blocks[g]) * size < end) {
        const int64_t at = std::ssize(request.blocks[g]);
        const bool taken = std::find(fresh.begin(), fresh.end(), at) != fresh.end();
        request.blocks[g].push_back(taken ? pool_.take() : LiteralPool::kNoBlock);
        request.kept[g].push_back(true);
      }
    }
    request.computed = end;
    return true;
  }

  // Of the first `tokens` tokens, which are computed; an answer begins behind `prompt` tokens.
  void name(LiteralRequest& request, int64_t tokens, int64_t prompt = 1 << 30) {
    const BlockNames& names = request.names;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t at = 0; at < names[g].size() && at < request.blocks[g].size(); ++at) {
        const bool is_full =
            static_cast<int64_t>(at + 1) * groups_[g].block_tokens <= tokens && request.kept[g][at];
        if (is_full && request.blocks[g][at] != LiteralPool::kNoBlock) {
          const int64_t first = static_cast<int64_t>(at) * groups_[g].block_tokens;
          const Level level = first < prompt
                                  ? level_of_prompt(first).value_or(Level())
                                  : Level{retention_.decode_priority, retention_.decode_duration_s};
          pool_.name(request.blocks[g][at], names[g][at], level);
        }
      }
    }
  }

  void give_back(LiteralRequest& request) {
    for (std::vector<LiteralPool::Block>& blocks : request.blocks) {
      std::erase(blocks, LiteralPool::kNoBlock);
      pool_.give_back(blocks);
    }
  }

 private:
  // That of the range in which a block begins with `token`.
  std::optional<Level> level_of_prompt(int64_t token) const {
    for (const RetentionRange& range : retention_.ranges) {
      const bool is_in = token >= range.from_token && (!range.to_token || token < *range.to_token);
      if (is_in) return Level{range.priority, range.duration_s};
    }
    return {};
  }

  bool is_sparse(std::size_t g) const {
    return groups_[g].rule == KvRule::checkpoint && checkpoints_ == Checkpoints::align;
  }

  // Whether the token behind `computed` tokens needs token `token` of them.
  static bool needs(const KvGroup& group, int64_t computed, int64_t token) {
    switch (group.rule) {
      case KvRule::all:
        return true;
      case KvRule::window:
        return token > computed - group.tokens;
      case KvRule::chunk:
        return token / group.tokens == computed / group.tokens;
      case KvRule::checkpoint:
        return token == computed - 1;
    }
    return false;
  }
  static bool needs_block(const KvGroup& group, int64_t computed, int64_t at) {
    for (int64_t token = at * group.block_tokens; token < (at + 1) * group.block_tokens; ++token) {
      if (token < computed && needs(group, computed, token)) return true;
    }
    return false;
  }

  std::vector<int64_t> new_positions(const LiteralRequest& request, std::size_t g, int64_t end) const {
    std::vector<int64_t> positions;
    const int64_t size = groups_[g].block_tokens;
    for (int64_t at = std::ssize(request.blocks[g]); at * size < end; ++at) {
      if (!is_sparse(g) || (at + 1) * size >= end) positions.push_back(at);
    }
    return positions;
  }

  void drop(LiteralRequest& request) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (int64_t at = std::ssize(request.blocks[g]); at-- > 0;) {
        LiteralPool::Block& block = request.blocks[g][static_cast<std::size_t>(at)];
        const bool is_full = (at + 1) * groups_[g].block_tokens <= request.computed;
        if (block == LiteralPool::kNoBlock || !is_full) continue;
        if (needs_block(groups_[g], request.computed, at)) continue;
        pool_.give_back(std::span(&block, 1));
        block = LiteralPool::kNoBlock;
      }
    }
  }

  LiteralPool pool_;
  std::vector<KvGroup> groups_;
  Checkpoints checkpoints_;
  Retention retention_;
  Chains chains_;
};

}  // namespace kvcap::reference
