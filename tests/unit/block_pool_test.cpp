#include "state/block_pool.h"

#include <gtest/gtest.h>

#include <compare>
#include <list>
#include <map>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "reference/literal_pool.h"

namespace kvcap {
namespace {

using reference::Chain;
using reference::Chains;
using reference::LiteralPool;
using reference::Token;

// What both pools call a block that was evicted: its text and first token or, where it mixes texts, its key.
struct BlockName {
  Key text = 0;
  int64_t first = 0;
  auto operator<=>(const BlockName&) const = default;
};
std::ostream& operator<<(std::ostream& out, const BlockName& name) {
  return out << name.text << "+" << name.first;
}

std::vector<BlockName> names_of(const std::vector<BlockRun>& runs, int64_t block_size) {
  std::vector<BlockName> names;
  for (const BlockRun& run : runs) {
    for (int64_t i = 0; i < run.blocks; ++i) names.push_back({run.text, run.first + i * block_size});
  }
  return names;
}

// ---- block_runs ----

TEST(BlockRuns, AreTheFullBlocksOfEveryTextWhereTextsEndWithBlocks) {
  const std::vector<BlockRun> runs = block_runs(std::vector<TextRun>{{7, 0, 8}, {9, 0, 4}}, 4);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0], (BlockRun{7, 0, 2}));
  EXPECT_EQ(runs[1], (BlockRun{9, 0, 1}));
}

TEST(BlockRuns, LeaveOutTheLastBlockThatIsNotFull) {
  const std::vector<BlockRun> runs = block_runs(std::vector<TextRun>{{7, 0, 11}}, 4);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0], (BlockRun{7, 0, 2}));
  EXPECT_TRUE(block_runs(std::vector<TextRun>{{7, 0, 2}, {9, 0, 1}}, 4).empty());
}

TEST(BlockRuns, PutABlockOfTwoTextsBetweenTheirOwnBlocks) {
  const std::vector<BlockRun> runs = block_runs(std::vector<TextRun>{{7, 0, 6}, {9, 0, 11}}, 4);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0], (BlockRun{7, 0, 1}));
  EXPECT_EQ(runs[1].blocks, 1);
  EXPECT_EQ(runs[2], (BlockRun{9, 2, 2}));  // 2 of its tokens filled the mixed block, the last one fills none
}

TEST(BlockRuns, NameAMixedBlockAfterEveryTokenInIt) {
  const auto name = [](std::vector<TextRun> texts) {
    const std::vector<BlockRun> runs = block_runs(texts, 4);
    EXPECT_EQ(runs.size(), 1U);
    return runs.front().text;
  };
  const Key mixed = name({{7, 0, 1}, {9, 0, 3}});
  EXPECT_EQ(mixed, name({{7, 0, 1}, {9, 0, 5}}));  // what comes later is no part of it
  EXPECT_NE(mixed, name({{7, 0, 2}, {9, 0, 2}}));
  EXPECT_NE(mixed, name({{7, 1, 1}, {9, 0, 3}}));
  EXPECT_NE(mixed, name({{7, 0, 1}, {9, 1, 3}}));
  EXPECT_NE(mixed, name({{8, 0, 1}, {9, 0, 3}}));
  EXPECT_NE(mixed, name({{7, 0, 1}, {8, 0, 3}}));
  EXPECT_NE(mixed, name({{9, 0, 3}, {7, 0, 1}}));
  EXPECT_NE(mixed, name({{7, 0, 1}, {9, 0, 2}, {5, 0, 1}}));
}

TEST(BlockRuns, NameAMixedBlockAlikeWhereverItsTextsBegan) {
  const std::vector<BlockRun> early = block_runs(std::vector<TextRun>{{7, 0, 9}, {9, 0, 3}}, 4);
  const std::vector<BlockRun> late = block_runs(std::vector<TextRun>{{7, 8, 1}, {9, 0, 3}}, 4);
  ASSERT_EQ(early.size(), 2U);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(early[1], late[0]);
}

TEST(BlockRuns, DoNotDependOnHowATextIsCutIntoRuns) {
  const std::vector<BlockRun> whole = block_runs(std::vector<TextRun>{{7, 0, 11}, {9, 0, 5}}, 4);
  for (int64_t cut = 0; cut <= 11; ++cut) {
    const std::vector<BlockRun> runs =
        block_runs(std::vector<TextRun>{{7, 0, cut}, {8, 0, 0}, {7, cut, 11 - cut}, {9, 0, 5}}, 4);
    ASSERT_EQ(runs.size(), whole.size()) << "cut at " << cut;
    for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_EQ(runs[i], whole[i]) << "cut at " << cut;
  }
}

TEST(BlockRuns, TellATextThatStartsAgainFromOneThatGoesOn) {
  const std::vector<BlockRun> runs = block_runs(std::vector<TextRun>{{7, 0, 4}, {7, 0, 4}}, 4);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1], (BlockRun{7, 0, 1}));
}

// ---- stories by hand ----

// Blocks of one token. Texts are numbers, and a request is a list of texts.
class Story : public testing::Test {
 protected:
  struct Request {
    std::vector<BlockRun> chain;
    BlockPool::Holding holding;
  };

  void open(int64_t blocks, bool caching = true) {
    pool_ = std::make_unique<BlockPool>(blocks, 1, caching);
    pool_->on_eviction([this](const BlockRun& run) {
      for (int64_t i = run.blocks; i-- > 0;) evicted_.push_back({run.text, run.first + i});
    });
  }
  // Computes the texts without looking for hits, and names all blocks.
  std::unique_ptr<Request> compute(const std::vector<TextRun>& texts) {
    auto request = std::make_unique<Request>();
    request->chain = block_runs(texts, 1);
    int64_t tokens = 0;
    for (const TextRun& text : texts) tokens += text.tokens;
    pool_->take(tokens, request->holding);
    pool_->name(request->chain, tokens, request->holding);
    return request;
  }
  std::unique_ptr<Request> hold(const std::vector<TextRun>& texts, int64_t blocks) {
    auto request = std::make_unique<Request>();
    request->chain = block_runs(texts, 1);
    pool_->hold(request->chain, blocks, request->holding);
    return request;
  }
  void give_back(const std::unique_ptr<Request>& request) { pool_->give_back(request->holding); }
  BlockPool::Hits find(const std::vector<TextRun>& texts, int64_t most = 1000) {
    return pool_->find(block_runs(texts, 1), most);
  }
  // The next blocks to be evicted when somebody takes so many; they are given back without a name.
  std::vector<BlockName> evict(int64_t blocks) {
    evicted_.clear();
    BlockPool::Holding holding;
    pool_->take(blocks, holding);
    pool_->give_back(holding);
    return evicted_;
  }

  std::unique_ptr<BlockPool> pool_;
  std::vector<BlockName> evicted_;
};
using Names = std::vector<BlockName>;

TEST_F(Story, TheTailOfARequestIsEvictedBeforeItsHead) {
  open(4);
  give_back(compute({{7, 0, 4}}));
  EXPECT_EQ(pool_->cached(), 4);
  EXPECT_EQ(evict(1), (Names{{7, 3}}));
  EXPECT_EQ(find({{7, 0, 4}}).blocks, 3);
  EXPECT_EQ(evict(3), (Names{{7, 2}, {7, 1}}));  // one of the three was free already
  EXPECT_EQ(find({{7, 0, 4}}).blocks, 1);
}

TEST_F(Story, TheBlocksThatWereGivenBackFirstAreEvictedFirst) {
  open(6);
  const auto a = compute({{1, 0, 2}}), b = compute({{2, 0, 2}}), c = compute({{3, 0, 2}});
  give_back(b);
  give_back(c);
  give_back(a);
  EXPECT_EQ(evict(5), (Names{{2, 1}, {2, 0}, {3, 1}, {3, 0}, {1, 1}}));
}

TEST_F(Story, BlocksThatAreUsedAgainBecomeTheYoungest) {
  open(4);
  give_back(compute({{1, 0, 2}}));
  give_back(compute({{2, 0, 2}}));
  give_back(hold({{1, 0, 2}}, 2));
  EXPECT_EQ(evict(4), (Names{{2, 1}, {2, 0}, {1, 1}, {1, 0}}));
}

TEST_F(Story, ASharedHeadIsAsYoungAsItsYoungestUse) {
  open(4);
  give_back(compute({{1, 0, 3}}));
  give_back(hold({{1, 0, 3}}, 1));  // the first block only
  EXPECT_EQ(evict(4), (Names{{1, 2}, {1, 1}, {1, 0}}));
}

TEST_F(Story, BlocksWithoutNamesAreUsedBeforeAnythingIsEvicted) {
  open(4);
  auto request = std::make_unique<Request>();
  request->chain = block_runs(std::vector<TextRun>{{1, 0, 4}}, 1);
  pool_->take(4, request->holding);
  pool_->name(request->chain, 1, request->holding);
  give_back(request);
  EXPECT_EQ(pool_->cached(), 1);
  EXPECT_EQ(pool_->free(), 4);
  EXPECT_EQ(evict(3), Names{});
  EXPECT_EQ(evict(4), (Names{{1, 0}}));
}

TEST_F(Story, WhatTwoRequestsComputedIsTwoBlocksAndTheOlderOneIsFound) {
  open(6);
  const auto older = compute({{1, 0, 2}}), newer = compute({{1, 0, 2}});
  EXPECT_EQ(pool_->held(), 4);
  give_back(newer);
  EXPECT_EQ(find({{1, 0, 2}}).blocks, 2);
  EXPECT_EQ(find({{1, 0, 2}}).unheld, 0);  // the older ones are held
  EXPECT_EQ(pool_->cached(), 2);
  give_back(older);
  EXPECT_EQ(find({{1, 0, 2}}).unheld, 2);
  EXPECT_EQ(pool_->cached(), 4);
  EXPECT_EQ(evict(4), (Names{{1, 1}, {1, 0}}));  // the newer, which was given back first
  EXPECT_EQ(find({{1, 0, 2}}).blocks, 2);
  EXPECT_EQ(evict(6), (Names{{1, 1}, {1, 0}}));
  EXPECT_EQ(find({{1, 0, 2}}).blocks, 0);
}

TEST_F(Story, WhenTheOlderBlockIsEvictedTheNewerOneIsFound) {
  open(4);
  const auto older = compute({{1, 0, 2}}), newer = compute({{1, 0, 2}});
  give_back(older);
  EXPECT_EQ(evict(1), (Names{{1, 1}}));
  // Of the first block the older copy is left, which nobody holds; of the second one only the newer, which is
  // held.
  EXPECT_EQ(find({{1, 0, 2}}).blocks, 2);
  EXPECT_EQ(find({{1, 0, 2}}).unheld, 1);
  EXPECT_EQ(pool_->held(), 2);
  give_back(newer);
  EXPECT_EQ(pool_->cached(), 3);
  EXPECT_EQ(evict(4), (Names{{1, 0}, {1, 1}, {1, 0}}));
}

TEST_F(Story, AFullHitIsLimitedByWhatMayBeFound) {
  open(8);
  give_back(compute({{1, 0, 8}}));
  EXPECT_EQ(find({{1, 0, 8}}, 7).blocks, 7);
  EXPECT_EQ(find({{1, 0, 8}}, 7).unheld, 7);
  EXPECT_EQ(find({{1, 0, 8}}, 0).blocks, 0);
  const auto part = hold({{1, 0, 8}}, 7);
  EXPECT_EQ(pool_->held(), 7);
  EXPECT_EQ(pool_->cached(), 1);
  EXPECT_EQ(find({{1, 0, 8}}).blocks, 8);
  EXPECT_EQ(find({{1, 0, 8}}).unheld, 1);
}

TEST_F(Story, APromptThatLeavesATextInItsMiddleFindsItsFirstPart) {
  open(12);
  give_back(compute({{1, 0, 6}}));
  EXPECT_EQ(find({{1, 0, 4}, {2, 0, 3}}).blocks, 4);
  auto branch = hold({{1, 0, 4}, {2, 0, 3}}, 4);
  pool_->take(3, branch->holding);
  pool_->name(branch->chain, 7, branch->holding);
  EXPECT_EQ(find({{1, 0, 4}, {2, 0, 3}}).blocks, 7);
  EXPECT_EQ(find({{1, 0, 6}}).blocks, 6);
  EXPECT_EQ(find({{1, 0, 6}}).unheld, 2);
  EXPECT_EQ(find({{2, 0, 3}}).blocks, 0);  // not after another chain
  give_back(branch);
  EXPECT_EQ(evict(12), (Names{{1, 5}, {1, 4}, {2, 2}, {2, 1}, {2, 0}, {1, 3}, {1, 2}, {1, 1}, {1, 0}}));
}

TEST_F(Story, AHoldingSurvivesSplitsOfWhatItHolds) {
  open(20);
  const auto a = compute({{1, 0, 10}});
  const auto b = hold({{1, 0, 10}}, 7), c = hold({{1, 0, 10}}, 3), d = hold({{1, 0, 10}}, 5);
  EXPECT_EQ(pool_->held(), 10);
  const std::vector<const BlockPool::Holding*> all = {&a->holding, &b->holding, &c->holding, &d->holding};
  pool_->check(all);
  give_back(a);
  EXPECT_EQ(pool_->cached(), 3);
  give_back(b);
  EXPECT_EQ(pool_->cached(), 5);
  give_back(c);
  EXPECT_EQ(pool_->cached(), 5);
  give_back(d);
  EXPECT_EQ(evict(20),
            (Names{{1, 9}, {1, 8}, {1, 7}, {1, 6}, {1, 5}, {1, 4}, {1, 3}, {1, 2}, {1, 1}, {1, 0}}));
}

TEST_F(Story, ARequestThatGrowsKeepsItsBlocksInOrder) {
  open(8);
  auto growing = std::make_unique<Request>();
  growing->chain = block_runs(std::vector<TextRun>{{1, 0, 5}, {2, 0, 3}}, 1);
  for (int64_t blocks = 1; blocks <= 8; ++blocks) {
    pool_->take(1, growing->holding);
    EXPECT_EQ(find({{1, 0, 5}, {2, 0, 3}}).blocks, blocks - 1);
    pool_->name(growing->chain, blocks, growing->holding);
    EXPECT_EQ(find({{1, 0, 5}, {2, 0, 3}}).blocks, blocks);
    if (blocks == 3) {
      give_back(hold({{1, 0, 5}}, 3));  // somebody else uses them for a while
    }
  }
  EXPECT_EQ(growing->holding.named(), 8);
  give_back(growing);
  EXPECT_EQ(evict(8), (Names{{2, 2}, {2, 1}, {2, 0}, {1, 4}, {1, 3}, {1, 2}, {1, 1}, {1, 0}}));
}

TEST_F(Story, ARequestThatGrowsBesideAnotherDoesNotLendItItsNewBlocks) {
  open(8);
  auto growing = compute({{1, 0, 2}});
  growing->chain = block_runs(std::vector<TextRun>{{1, 0, 8}}, 1);
  const auto other = hold({{1, 0, 2}}, 2);
  pool_->take(2, growing->holding);
  pool_->name(block_runs(std::vector<TextRun>{{1, 0, 8}}, 1), 4, growing->holding);
  EXPECT_EQ(pool_->held(), 4);
  give_back(growing);
  EXPECT_EQ(pool_->held(), 2);  // what the other one holds
  EXPECT_EQ(pool_->cached(), 2);
  give_back(other);
  EXPECT_EQ(evict(8), (Names{{1, 3}, {1, 2}, {1, 1}, {1, 0}}));
}

TEST_F(Story, NothingIsFoundWithoutCaching) {
  open(4, false);
  const auto request = compute({{1, 0, 3}});
  EXPECT_EQ(find({{1, 0, 3}}).blocks, 0);
  EXPECT_EQ(request->holding.named(), 0);
  give_back(request);
  EXPECT_EQ(pool_->cached(), 0);
  EXPECT_EQ(evict(4), Names{});
}

// ---- at random, against a record of every block ----

class Twins {
 public:
  Twins(uint64_t seed, int64_t block_size, int64_t blocks, bool caching)
      : dice_(seed), size_(block_size), pool_(blocks, block_size, caching), literal_(blocks, caching) {
    pool_.on_eviction([this](const BlockRun& run) {
      for (int64_t i = run.blocks; i-- > 0;) evicted_.push_back({run.text, run.first + i * size_});
    });
    for (int64_t left = between(2, 4); left > 0; --left) lengths_.push_back(between(1, 7 * size_ + 3));
  }

  void run(int operations) {
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("operation " + std::to_string(i));
      const int64_t which = between(0, 9);
      if (which < 3 || requests_.empty()) {
        admit();
      } else if (which < 6) {
        grow(*any());
      } else if (which < 8) {
        name(*any());
      } else {
        const auto leaves = any();
        give_back(*leaves);
        requests_.erase(leaves);
      }
      compare();
      if (i % 7 == 0) check();
    }
    for (Request& request : requests_) {
      give_back(request);
      compare();
    }
    requests_.clear();
    check();
    // Everything leaves: the whole order of eviction.
    BlockPool::Holding all;
    while (pool_.free() > 0) {
      const int64_t blocks = between(1, pool_.free());
      pool_.take(blocks, all);
      for (int64_t i = 0; i < blocks; ++i) literal_.take();
      compare();
    }
  }
  std::size_t evictions() const { return evicted_.size(); }
  int64_t hits() const { return hits_; }
  int64_t duplicates() const { return duplicates_; }

 private:
  struct Request {
    int64_t tokens = 0;
    std::vector<BlockRun> runs;
    std::vector<Chain> chains;
    BlockPool::Holding holding;
    std::vector<LiteralPool::Block> blocks;
  };
  using Requests = std::list<Request>;

  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(dice_() % static_cast<uint64_t>(high - low + 1));
  }
  Requests::iterator any() { return std::next(requests_.begin(), between(0, std::ssize(requests_) - 1)); }

  // Some texts in a row: whole ones, first parts, and now and then a later part or one cut in two.
  Request prompt() {
    Request request;
    std::vector<TextRun> texts;
    for (int64_t left = between(1, 4); left > 0; --left) {
      const auto text = static_cast<Key>(between(0, std::ssize(lengths_) - 1));
      const int64_t length = lengths_[text];
      const int64_t first = between(0, 9) == 0 ? between(0, length - 1) : 0;
      const int64_t tokens = between(0, 1) == 0 ? length - first : between(1, length - first);
      const int64_t cut = between(0, 3) == 0 ? between(0, tokens) : tokens;
      texts.push_back({text, first, cut});
      texts.push_back({text, first + cut, tokens - cut});
    }
    std::vector<Token> tokens;
    for (const TextRun& text : texts) {
      for (int64_t i = 0; i < text.tokens; ++i) tokens.push_back({text.text, text.first + i});
    }
    request.tokens = std::ssize(tokens);
    request.runs = block_runs(texts, size_);
    request.chains = chains_.of(tokens, size_);
    const std::vector<BlockName> names = names_of(request.runs, size_);
    EXPECT_EQ(names.size(), request.chains.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto [known, is_new] = names_.try_emplace(request.chains[i], names[i]);
      EXPECT_TRUE(is_new || known->second == names[i]) << "two names for one block";
    }
    return request;
  }

  void admit() {
    Request request = prompt();
    if (testing::Test::HasFailure()) return;
    const int64_t blocks = (request.tokens + size_ - 1) / size_;
    const int64_t most = between(0, 1) == 0 ? (request.tokens - 1) / size_ : between(0, blocks);
    int64_t unheld = 0;
    for (const Chain chain : request.chains) {
      const LiteralPool::Block block = literal_.find(chain);
      if (block == LiteralPool::kNoBlock || std::ssize(request.blocks) == most) break;
      request.blocks.push_back(block);
      if (literal_.is_free(block)) ++unheld;
    }
    const BlockPool::Hits hits = pool_.find(request.runs, most);
    ASSERT_EQ(hits.blocks, std::ssize(request.blocks));
    ASSERT_EQ(hits.unheld, unheld);
    if (blocks - hits.blocks > literal_.free() - unheld) return;
    hits_ += hits.blocks;
    for (const LiteralPool::Block block : request.blocks) literal_.hold(block);
    pool_.hold(request.runs, hits.blocks, request.holding);
    compare();
    requests_.push_back(std::move(request));
    grow(requests_.back());
    if (between(0, 1) == 0) name(requests_.back());
  }

  void grow(Request& request) {
    const int64_t missing = (request.tokens + size_ - 1) / size_ - std::ssize(request.blocks);
    const int64_t blocks = std::min(between(0, 1) == 0 ? missing : between(0, missing), literal_.free());
    for (int64_t i = 0; i < blocks; ++i) request.blocks.push_back(literal_.take());
    pool_.take(blocks, request.holding);
  }

  void name(Request& request) {
    const int64_t full = std::min(std::ssize(request.blocks), std::ssize(request.chains));
    const int64_t named = between(0, 2) > 0 ? full : between(0, full);
    for (int64_t i = 0; i < named; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (literal_.chain_of(request.blocks[at]) == reference::kNoChain &&
          literal_.find(request.chains[at]) != LiteralPool::kNoBlock) {
        ++duplicates_;
      }
      literal_.name(request.blocks[at], request.chains[at]);
    }
    pool_.name(request.runs, named, request.holding);
  }

  void give_back(Request& request) {
    literal_.give_back(request.blocks);
    request.blocks.clear();
    pool_.give_back(request.holding);
    EXPECT_EQ(request.holding.blocks(), 0);
  }

  void compare() {
    ASSERT_EQ(pool_.free(), literal_.free());
    ASSERT_EQ(pool_.cached(), literal_.cached());
    ASSERT_EQ(pool_.held(), literal_.held());
    for (const Request& request : requests_) ASSERT_EQ(request.holding.blocks(), std::ssize(request.blocks));
    ASSERT_EQ(evicted_.size(), literal_.evicted().size());
    for (; compared_ < evicted_.size(); ++compared_) {
      ASSERT_EQ(evicted_[compared_], names_.at(literal_.evicted()[compared_])) << "eviction " << compared_;
    }
  }

  void check() {
    std::vector<const BlockPool::Holding*> holdings;
    for (const Request& request : requests_) holdings.push_back(&request.holding);
    pool_.check(holdings);
  }

  std::mt19937_64 dice_;
  int64_t size_;
  BlockPool pool_;
  LiteralPool literal_;
  Chains chains_;
  std::map<Chain, BlockName> names_;
  std::vector<int64_t> lengths_;  // of the texts
  Requests requests_;
  std::vector<BlockName> evicted_;
  std::size_t compared_ = 0;
  int64_t hits_ = 0, duplicates_ = 0;
};

struct Setting {
  int64_t block_size, blocks;
  bool caching;
};
std::string called(const Setting& setting) {
  return "Of" + std::to_string(setting.blocks) + "BlocksOf" + std::to_string(setting.block_size) +
         (setting.caching ? "Tokens" : "TokensWithoutNames");
}
void PrintTo(const Setting& setting, std::ostream* out) { *out << called(setting); }

class BlockPoolAtRandom : public testing::TestWithParam<Setting> {};

TEST_P(BlockPoolAtRandom, DoesWhatARecordOfEveryBlockDoes) {
  const Setting setting = GetParam();
  std::size_t evictions = 0;
  int64_t hits = 0, duplicates = 0;
  for (uint64_t seed = 1; seed <= 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Twins twins(seed, setting.block_size, setting.blocks, setting.caching);
    twins.run(150);
    evictions += twins.evictions();
    hits += twins.hits();
    duplicates += twins.duplicates();
  }
  // The sequences reach what they are there to reach.
  EXPECT_EQ(evictions > 1000, setting.caching);
  EXPECT_EQ(hits > 1000, setting.caching);
  EXPECT_EQ(duplicates > 200, setting.caching);
}

INSTANTIATE_TEST_SUITE_P(Pools, BlockPoolAtRandom,
                         testing::Values(Setting{1, 12, true}, Setting{1, 40, true}, Setting{1, 400, true},
                                         Setting{4, 10, true}, Setting{4, 40, true}, Setting{4, 400, true},
                                         Setting{16, 12, true}, Setting{16, 60, true}, Setting{4, 40, false}),
                         [](const testing::TestParamInfo<Setting>& test) { return called(test.param); });

}  // namespace
}  // namespace kvcap
