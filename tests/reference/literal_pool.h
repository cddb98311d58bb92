// The block pool with one record a block: what state/kv_pool.h computes with runs, done block by block.
// Tests compare the two. Nothing here is fast, and nothing here is clever.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/key_map.h"

namespace kvcap::reference {

// Token `index` of a text. Two tokens are equal when both are.
struct Token {
  Key text = 0;
  int64_t index = 0;
  auto operator<=>(const Token&) const = default;
};

using Chain = int64_t;  // the number of a chain of full blocks
inline constexpr Chain kNoChain = -1;

// Numbers for chains: equal blocks after equal chains are the same chain.
class Chains {
 public:
  // One chain for every full block of the sequence.
  std::vector<Chain> of(std::span<const Token> sequence, int64_t block_size) {
    std::vector<Chain> chains;
    Chain before = kNoChain;
    for (auto rest = sequence; std::ssize(rest) >= block_size; rest = rest.subspan(block_size)) {
      const std::vector<Token> block(rest.begin(), rest.begin() + block_size);
      const auto [known, is_new] = numbers_.try_emplace({before, block}, std::ssize(last_));
      if (is_new) {
        last_.push_back(block.back());
        lengths_.push_back(before == kNoChain ? 1 : blocks(before) + 1);
      }
      before = known->second;
      chains.push_back(before);
    }
    return chains;
  }

  int64_t blocks(Chain chain) const { return lengths_[static_cast<std::size_t>(chain)]; }
  Token last_token(Chain chain) const { return last_[static_cast<std::size_t>(chain)]; }

 private:
  std::map<std::pair<Chain, std::vector<Token>>, Chain> numbers_;
  std::vector<Token> last_;
  std::vector<int64_t> lengths_;
};

// Priority of a block, and for how long it has it after its last use.
struct Level {
  int64_t priority = 35;
  std::optional<double> duration_s;
};

class LiteralPool {
 public:
  using Block = int64_t;
  static constexpr Block kNoBlock = -1;

  LiteralPool(int64_t blocks, bool caching) : caching_(caching), records_(static_cast<std::size_t>(blocks)) {
    for (Block block = 0; block < blocks; ++block) put(block, kNameless);
  }

  void set_time(double now_s) { now_s_ = now_s; }
  int64_t free() const {
    return std::count_if(records_.begin(), records_.end(),
                         [](const Record& one) { return one.references == 0; });
  }
  int64_t held() const { return std::ssize(records_) - free(); }
  int64_t cached() const {
    return std::count_if(records_.begin(), records_.end(),
                         [](const Record& one) { return one.references == 0 && one.chain != kNoChain; });
  }
  bool is_free(Block block) const { return records_[static_cast<std::size_t>(block)].references == 0; }
  Chain chain_of(Block block) const { return records_[static_cast<std::size_t>(block)].chain; }
  // Chains whose blocks left the pool, in order, and their priorities.
  const std::vector<Chain>& evicted() const { return evicted_; }
  const std::vector<int64_t>& evicted_priorities() const { return evicted_priorities_; }

  // Of the blocks with this name the one that got it first.
  Block find(Chain chain) const {
    const auto named = named_.find(chain);
    return named == named_.end() ? kNoBlock : named->second.front();
  }

  // A prompt has found the block. Without a level it keeps its priority, for good.
  void hold(Block block, std::optional<Level> level = {}) {
    Record& found = record(block);
    if (found.references == 0) free_[found.list].remove(block);
    ++found.references;
    found.level = level.value_or(Level{found.level.priority, {}});
  }

  // REQUIRES: free() > 0.
  Block take() {
    for (auto& [list, blocks] : free_) {
      if (blocks.empty()) continue;
      const Block block = blocks.front();
      blocks.pop_front();
      if (list != kNameless) forget(block);
      record(block) = {.references = 1};
      return block;
    }
    KVCAP_CHECK(false);
    return kNoBlock;
  }

  void name(Block block, Chain chain, Level level = {}) {
    if (!caching_ || chain_of(block) != kNoChain) return;
    record(block).chain = chain;
    record(block).level = level;
    named_[chain].push_back(block);
  }

  // The blocks of one request, in order.
  void give_back(std::span<const Block> blocks) {
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      Record& given = record(*block);
      if (--given.references > 0) continue;
      put(*block, given.chain == kNoChain ? kNameless : given.level.priority);
      given.release = ++releases_;
      if (given.level.duration_s && given.level.priority != 35)
        given.expires_s = now_s_ + *given.level.duration_s;
    }
  }

  // Free blocks whose duration is over have the default priority, as if they had been given back now.
  void expire() {
    while (true) {
      Block next = kNoBlock;
      for (Block block = 0; block < std::ssize(records_); ++block) {
        const Record& one = record(block);
        if (one.references > 0 || !one.expires_s || *one.expires_s > now_s_) continue;
        if (next == kNoBlock || std::pair(*one.expires_s, one.release) <
                                    std::pair(*record(next).expires_s, record(next).release)) {
          next = block;
        }
      }
      if (next == kNoBlock) return;
      free_[record(next).list].remove(next);
      record(next).level = {};
      record(next).expires_s.reset();
      put(next, 35);
    }
  }

 private:
  static constexpr int64_t kNameless = -1;  // their list is used first
  struct Record {
    int64_t references = 0;
    Chain chain = kNoChain;
    Level level;
    int64_t list = kNameless;  // of free_, where nobody holds it
    int64_t release = 0;
    std::optional<double> expires_s;
  };
  Record& record(Block block) { return records_[static_cast<std::size_t>(block)]; }

  void put(Block block, int64_t list) {
    record(block).list = list;
    record(block).expires_s.reset();
    free_[list].push_back(block);
  }

  void forget(Block block) {
    const Chain chain = record(block).chain;
    evicted_.push_back(chain);
    evicted_priorities_.push_back(record(block).level.priority);
    std::erase(named_.at(chain), block);
    if (named_.at(chain).empty()) named_.erase(chain);
  }

  bool caching_;
  double now_s_ = 0;
  int64_t releases_ = 0;
  std::vector<Record> records_;
  std::map<int64_t, std::list<Block>> free_;             // by priority; the first one is used first
  std::unordered_map<Chain, std::vector<Block>> named_;  // oldest name first
  std::vector<Chain> evicted_;
  std::vector<int64_t> evicted_priorities_;
};

}  // namespace kvcap::reference
