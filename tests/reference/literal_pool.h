// The block pool with one record a block: what state/kv_pool.h computes with runs, done block by block.
// Tests compare the two. Nothing here is fast, and nothing here is clever.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <list>
#include <map>
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

class LiteralPool {
 public:
  using Block = int64_t;
  static constexpr Block kNoBlock = -1;

  LiteralPool(int64_t blocks, bool caching) : caching_(caching), records_(static_cast<std::size_t>(blocks)) {
    for (Block block = 0; block < blocks; ++block) record(block).place = free_.insert(free_.end(), block);
  }

  int64_t free() const { return std::ssize(free_) + std::ssize(retained_); }
  int64_t held() const { return std::ssize(records_) - free(); }
  int64_t cached() const {
    return std::ssize(retained_) + std::count_if(free_.begin(), free_.end(),
                                                 [this](Block block) { return chain_of(block) != kNoChain; });
  }
  bool is_free(Block block) const { return records_[static_cast<std::size_t>(block)].references == 0; }
  Chain chain_of(Block block) const { return records_[static_cast<std::size_t>(block)].chain; }
  // Chains whose blocks left the pool, in order.
  const std::vector<Chain>& evicted() const { return evicted_; }

  // Of the blocks with this name the one that got it first.
  Block find(Chain chain) const {
    const auto named = named_.find(chain);
    return named == named_.end() ? kNoBlock : named->second.front();
  }

  void hold(Block block) {
    if (is_free(block)) (record(block).retained ? retained_ : free_).erase(record(block).place);
    ++record(block).references;
  }

  // REQUIRES: free() > 0.
  Block take() {
    std::list<Block>& from = free_.empty() ? retained_ : free_;
    KVCAP_CHECK(!from.empty());
    const Block block = from.front();
    from.pop_front();
    Record& taken = record(block);
    if (taken.chain != kNoChain) {
      evicted_.push_back(taken.chain);
      std::vector<Block>& same_name = named_.at(taken.chain);
      std::erase(same_name, block);
      if (same_name.empty()) named_.erase(taken.chain);
      taken.chain = kNoChain;
    }
    taken.references = 1;
    taken.retained = false;
    return block;
  }

  // `retained`: it leaves after all that are not.
  void name(Block block, Chain chain, bool retained = false) {
    if (!caching_ || chain_of(block) != kNoChain) return;
    record(block).chain = chain;
    record(block).retained = retained;
    named_[chain].push_back(block);
  }

  // The blocks of one request, in order.
  void give_back(std::span<const Block> blocks) {
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      Record& given = record(*block);
      if (--given.references > 0) continue;
      std::list<Block>& to = given.retained ? retained_ : free_;
      given.place = to.insert(given.chain == kNoChain ? to.begin() : to.end(), *block);
    }
  }

 private:
  struct Record {
    int64_t references = 0;
    Chain chain = kNoChain;
    bool retained = false;
    std::list<Block>::iterator place;  // in free_ or retained_, where nobody holds it
  };
  Record& record(Block block) { return records_[static_cast<std::size_t>(block)]; }

  bool caching_;
  std::vector<Record> records_;
  std::list<Block> free_, retained_;                     // the first one is used first
  std::unordered_map<Chain, std::vector<Block>> named_;  // oldest name first
  std::vector<Chain> evicted_;
};

}  // namespace kvcap::reference
