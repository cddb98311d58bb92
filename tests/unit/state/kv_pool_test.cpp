// The pool of a model with one group of layers, by hand: what is found, held and evicted; and many steps at
// once are as many single ones.
#include "state/kv_pool.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace kvcap::kv_pool_test {
namespace {

using BlockName = std::pair<Key, int64_t>;  // the text and the first token

// Blocks of one token. Texts are numbers, and a request is a list of texts.
class KvPoolStory : public testing::Test {
 protected:
  struct Request {
    std::vector<BlockRun> chain;
    KvHolding holding;
  };

  void open(int64_t blocks, bool caching = true, const Retention& retention = {}) {
    pool_ = std::make_unique<KvPool>(
        KvPoolOptions{.blocks = blocks,
                      .layout = {.groups = {{KvRule::all, 0, 1}}, .group_layers = 1, .unit_tokens = 1},
                      .caching = caching,
                      .retention = retention,
                      .now_s = [this] { return now_s_; }});
    pool_->on_eviction([this](std::size_t, const BlockRun& run, int64_t) {
      for (int64_t i = run.blocks; i-- > 0;) evicted_.push_back({run.text, run.first + i});
    });
  }
  // Computes the texts without looking for hits, and names all blocks.
  std::unique_ptr<Request> compute(const std::vector<TextRun>& texts) {
    auto request = std::make_unique<Request>();
    request->chain = block_runs(texts, 1);
    int64_t tokens = 0;
    for (const TextRun& text : texts) tokens += text.tokens;
    take(tokens, request->holding);
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
  KvHits find(const std::vector<TextRun>& texts, int64_t most = 1000) {
    return pool_->find(block_runs(texts, 1), most);
  }
  void take(int64_t blocks, KvHolding& holding) { pool_->take_loaded(holding.blocks() + blocks, holding); }
  // The next blocks to be evicted when somebody takes so many; they are given back without a name.
  std::vector<BlockName> evict(int64_t blocks) {
    evicted_.clear();
    KvHolding holding;
    take(blocks, holding);
    pool_->give_back(holding);
    return evicted_;
  }

  std::unique_ptr<KvPool> pool_;
  std::vector<BlockName> evicted_;
  double now_s_ = 0;
};
using Names = std::vector<BlockName>;

TEST_F(KvPoolStory, TheTailOfARequestIsEvictedBeforeItsHead) {
  open(4);
  give_back(compute({{7, 0, 4}}));
  EXPECT_EQ(pool_->cached(), 4);
  EXPECT_EQ(evict(1), (Names{{7, 3}}));
  EXPECT_EQ(find({{7, 0, 4}}).tokens, 3);
  EXPECT_EQ(evict(3), (Names{{7, 2}, {7, 1}}));  // one of the three was free already
  EXPECT_EQ(find({{7, 0, 4}}).tokens, 1);
}

TEST_F(KvPoolStory, TheBlocksThatWereGivenBackFirstAreEvictedFirst) {
  open(6);
  const auto a = compute({{1, 0, 2}}), b = compute({{2, 0, 2}}), c = compute({{3, 0, 2}});
  give_back(b);
  give_back(c);
  give_back(a);
  EXPECT_EQ(evict(5), (Names{{2, 1}, {2, 0}, {3, 1}, {3, 0}, {1, 1}}));
}

TEST_F(KvPoolStory, BlocksThatAreUsedAgainBecomeTheYoungest) {
  open(4);
  give_back(compute({{1, 0, 2}}));
  give_back(compute({{2, 0, 2}}));
  give_back(hold({{1, 0, 2}}, 2));
  EXPECT_EQ(evict(4), (Names{{2, 1}, {2, 0}, {1, 1}, {1, 0}}));
}

TEST_F(KvPoolStory, RetainedHeadsLeaveAfterYoungerBlocksThatAreNot) {
  open(6, true, {.ranges = {{.to_token = 2, .priority = 36}}});
  give_back(compute({{1, 0, 3}}));
  give_back(compute({{2, 0, 3}}));
  EXPECT_EQ(evict(5), (Names{{1, 2}, {2, 2}, {1, 1}, {1, 0}, {2, 1}}));
  EXPECT_EQ(find({{2, 0, 3}}).tokens, 1);
}

// Blocks 0 and 1 of a prompt have 80 for 10 s, those from 3 on 10; block 2 has the default.
TEST_F(KvPoolStory, BlocksLeaveInTheOrderOfTheirPriorities) {
  open(5, true,
       {.ranges = {{.to_token = 2, .priority = 80, .duration_s = 10}, {.from_token = 3, .priority = 10}}});
  give_back(compute({{1, 0, 5}}));
  EXPECT_EQ(evict(5), (Names{{1, 4}, {1, 3}, {1, 2}, {1, 1}, {1, 0}}));
  give_back(compute({{2, 0, 2}}));
  give_back(compute({{1, 2, 3}}));  // (1, 4) is block 2 of this prompt
  EXPECT_EQ(evict(5), (Names{{1, 4}, {2, 1}, {2, 0}, {1, 3}, {1, 2}}));
}

TEST_F(KvPoolStory, APriorityEndsSoLongAfterTheLastUse) {
  open(4, true, {.ranges = {{.to_token = 2, .priority = 80, .duration_s = 10}}});
  give_back(compute({{1, 0, 2}}));
  now_s_ = 5;
  give_back(hold({{1, 0, 2}}, 2));  // until 15
  now_s_ = 14;
  pool_->expire();
  auto other = compute({{2, 0, 1}, {3, 0, 1}});
  now_s_ = 15;
  pool_->expire();  // the first blocks are now the youngest of the default's
  EXPECT_EQ(pool_->cached(), 2);
  give_back(other);  // 80, until 25
  EXPECT_EQ(evict(4), (Names{{1, 1}, {1, 0}, {3, 0}, {2, 0}}));
}

TEST_F(KvPoolStory, ABlockOfAnAnswerHasItsPriorityUntilAPromptFindsIt) {
  open(4, true, {.ranges = {{.to_token = 3, .priority = 50}}, .decode_priority = 20});
  auto request = std::make_unique<Request>();
  request->chain = block_runs(std::vector<TextRun>{{1, 0, 4}}, 1);
  take(4, request->holding);
  pool_->name(request->chain, 4, request->holding, 1);
  give_back(request);
  EXPECT_EQ(evict(1), (Names{{1, 3}}));
  give_back(hold({{1, 0, 2}}, 2));  // block 2 stays one of an answer
  EXPECT_EQ(evict(4), (Names{{1, 2}, {1, 1}, {1, 0}}));
}

TEST_F(KvPoolStory, ASharedHeadIsAsYoungAsItsYoungestUse) {
  open(4);
  give_back(compute({{1, 0, 3}}));
  give_back(hold({{1, 0, 3}}, 1));  // the first block only
  EXPECT_EQ(evict(4), (Names{{1, 2}, {1, 1}, {1, 0}}));
}

TEST_F(KvPoolStory, BlocksWithoutNamesAreUsedBeforeAnythingIsEvicted) {
  open(4);
  auto request = std::make_unique<Request>();
  request->chain = block_runs(std::vector<TextRun>{{1, 0, 4}}, 1);
  take(4, request->holding);
  pool_->name(request->chain, 1, request->holding);
  give_back(request);
  EXPECT_EQ(pool_->cached(), 1);
  EXPECT_EQ(pool_->free(), 4);
  EXPECT_EQ(evict(3), Names{});
  EXPECT_EQ(evict(4), (Names{{1, 0}}));
}

TEST_F(KvPoolStory, WhatTwoRequestsComputedIsTwoBlocksAndTheOlderOneIsFound) {
  open(6);
  const auto older = compute({{1, 0, 2}}), newer = compute({{1, 0, 2}});
  EXPECT_EQ(pool_->held(), 4);
  give_back(newer);
  EXPECT_EQ(find({{1, 0, 2}}).tokens, 2);
  EXPECT_EQ(find({{1, 0, 2}}).unheld, 0);  // the older ones are held
  EXPECT_EQ(pool_->cached(), 2);
  give_back(older);
  EXPECT_EQ(find({{1, 0, 2}}).unheld, 2);
  EXPECT_EQ(pool_->cached(), 4);
  EXPECT_EQ(evict(4), (Names{{1, 1}, {1, 0}}));  // the newer, which was given back first
  EXPECT_EQ(find({{1, 0, 2}}).tokens, 2);
  EXPECT_EQ(evict(6), (Names{{1, 1}, {1, 0}}));
  EXPECT_EQ(find({{1, 0, 2}}).tokens, 0);
}

TEST_F(KvPoolStory, WhenTheOlderBlockIsEvictedTheNewerOneIsFound) {
  open(4);
  const auto older = compute({{1, 0, 2}}), newer = compute({{1, 0, 2}});
  give_back(older);
  EXPECT_EQ(evict(1), (Names{{1, 1}}));
  // Of the first block the older copy is left, which nobody holds; of the second one only the newer, which is
  // held.
  EXPECT_EQ(find({{1, 0, 2}}).tokens, 2);
  EXPECT_EQ(find({{1, 0, 2}}).unheld, 1);
  EXPECT_EQ(pool_->held(), 2);
  give_back(newer);
  EXPECT_EQ(pool_->cached(), 3);
  EXPECT_EQ(evict(4), (Names{{1, 0}, {1, 1}, {1, 0}}));
}

TEST_F(KvPoolStory, AFullHitIsLimitedByWhatMayBeFound) {
  open(8);
  give_back(compute({{1, 0, 8}}));
  EXPECT_EQ(find({{1, 0, 8}}, 7).tokens, 7);
  EXPECT_EQ(find({{1, 0, 8}}, 7).unheld, 7);
  EXPECT_EQ(find({{1, 0, 8}}, 0).tokens, 0);
  const auto part = hold({{1, 0, 8}}, 7);
  EXPECT_EQ(pool_->held(), 7);
  EXPECT_EQ(pool_->cached(), 1);
  EXPECT_EQ(find({{1, 0, 8}}).tokens, 8);
  EXPECT_EQ(find({{1, 0, 8}}).unheld, 1);
}

TEST_F(KvPoolStory, APromptThatLeavesATextInItsMiddleFindsItsFirstPart) {
  open(12);
  give_back(compute({{1, 0, 6}}));
  EXPECT_EQ(find({{1, 0, 4}, {2, 0, 3}}).tokens, 4);
  auto branch = hold({{1, 0, 4}, {2, 0, 3}}, 4);
  take(3, branch->holding);
  pool_->name(branch->chain, 7, branch->holding);
  EXPECT_EQ(find({{1, 0, 4}, {2, 0, 3}}).tokens, 7);
  EXPECT_EQ(find({{1, 0, 6}}).tokens, 6);
  EXPECT_EQ(find({{1, 0, 6}}).unheld, 2);
  EXPECT_EQ(find({{2, 0, 3}}).tokens, 0);  // not after another chain
  give_back(branch);
  EXPECT_EQ(evict(12), (Names{{1, 5}, {1, 4}, {2, 2}, {2, 1}, {2, 0}, {1, 3}, {1, 2}, {1, 1}, {1, 0}}));
}

TEST_F(KvPoolStory, AHoldingSurvivesSplitsOfWhatItHolds) {
  open(20);
  const auto a = compute({{1, 0, 10}});
  const auto b = hold({{1, 0, 10}}, 7), c = hold({{1, 0, 10}}, 3), d = hold({{1, 0, 10}}, 5);
  EXPECT_EQ(pool_->held(), 10);
  const std::vector<const KvHolding*> all = {&a->holding, &b->holding, &c->holding, &d->holding};
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

TEST_F(KvPoolStory, ARequestThatGrowsKeepsItsBlocksInOrder) {
  open(8);
  auto growing = std::make_unique<Request>();
  growing->chain = block_runs(std::vector<TextRun>{{1, 0, 5}, {2, 0, 3}}, 1);
  for (int64_t blocks = 1; blocks <= 8; ++blocks) {
    take(1, growing->holding);
    EXPECT_EQ(find({{1, 0, 5}, {2, 0, 3}}).tokens, blocks - 1);
    pool_->name(growing->chain, blocks, growing->holding);
    EXPECT_EQ(find({{1, 0, 5}, {2, 0, 3}}).tokens, blocks);
    if (blocks == 3) {
      give_back(hold({{1, 0, 5}}, 3));  // somebody else uses them for a while
    }
  }
  EXPECT_EQ(pool_->named_tokens(growing->holding), 8);
  give_back(growing);
  EXPECT_EQ(evict(8), (Names{{2, 2}, {2, 1}, {2, 0}, {1, 4}, {1, 3}, {1, 2}, {1, 1}, {1, 0}}));
}

TEST_F(KvPoolStory, ARequestThatGrowsBesideAnotherDoesNotLendItItsNewBlocks) {
  open(8);
  auto growing = compute({{1, 0, 2}});
  growing->chain = block_runs(std::vector<TextRun>{{1, 0, 8}}, 1);
  const auto other = hold({{1, 0, 2}}, 2);
  take(2, growing->holding);
  pool_->name(block_runs(std::vector<TextRun>{{1, 0, 8}}, 1), 4, growing->holding);
  EXPECT_EQ(pool_->held(), 4);
  give_back(growing);
  EXPECT_EQ(pool_->held(), 2);  // what the other one holds
  EXPECT_EQ(pool_->cached(), 2);
  give_back(other);
  EXPECT_EQ(evict(8), (Names{{1, 3}, {1, 2}, {1, 1}, {1, 0}}));
}

TEST_F(KvPoolStory, NothingIsFoundWithoutCaching) {
  open(4, false);
  const auto request = compute({{1, 0, 3}});
  EXPECT_EQ(find({{1, 0, 3}}).tokens, 0);
  EXPECT_EQ(pool_->named_tokens(request->holding), 0);
  give_back(request);
  EXPECT_EQ(pool_->cached(), 0);
  EXPECT_EQ(evict(4), Names{});
}

TEST_F(KvPoolStory, ATextIsFoundWhereItGoesOnInAnotherNodeOfTheTree) {
  constexpr int64_t kLong = 2 * ChainTree::kMostUnits + 3;
  open(kLong + 2);
  auto request = compute({{1, 0, ChainTree::kMostUnits + 5}});
  request->chain = block_runs(std::vector<TextRun>{{1, 0, kLong}}, 1);
  take(kLong - ChainTree::kMostUnits - 5, request->holding);
  pool_->name(request->chain, kLong, request->holding);
  give_back(request);
  EXPECT_EQ(find({{1, 0, kLong}}, kLong).tokens, kLong);
  EXPECT_EQ(find({{1, 0, kLong}}, kLong).unheld, kLong);
  EXPECT_EQ(find({{1, 0, ChainTree::kMostUnits}, {2, 0, 1}}).tokens, ChainTree::kMostUnits);
  EXPECT_EQ(evict(2), Names{});
  EXPECT_EQ(evict(6), (Names{{1, kLong - 1}, {1, kLong - 2}, {1, kLong - 3}, {1, kLong - 4}}));
  EXPECT_EQ(find({{1, 0, kLong}}, kLong).tokens, kLong - 4);
}

// ---- many steps at once ----

constexpr int64_t kBlock = 4;

KvPoolOptions options(std::vector<KvGroup> groups, int64_t blocks) {
  return {.blocks = blocks,
          .layout = {.groups = std::move(groups), .group_layers = 1, .unit_tokens = kBlock},
          .step_tokens = 64};
}

// Prompts of several lengths that have just been computed, in a pool with little room; then decode steps.
class Decoding {
 public:
  Decoding(const std::vector<KvGroup>& groups, unsigned seed) : pool_(options(groups, 400)) {
    pool_.on_eviction([this](std::size_t group, const BlockRun& run, int64_t) {
      for (int64_t i = run.blocks; i-- > 0 && group == 0;) {
        gone_ += std::to_string(run.text) + ":" + std::to_string(run.first + i * kBlock) + " ";
      }
    });
    std::mt19937 dice(seed);
    for (Key text = 1; text <= 30 && holdings_.size() < 8; ++text) {
      const auto tokens = static_cast<int64_t>(1 + dice() % 60);
      const TextRun run{text, 0, tokens};
      KvHolding holding;
      EXPECT_TRUE(pool_.grow(0, tokens, holding));
      pool_.name(block_runs(std::span(&run, 1), kBlock), tokens, holding);
      if (text % 3 == 0) {
        pool_.give_back(holding);
        continue;
      }
      holdings_.push_back(std::move(holding));
      growths_.push_back({&holdings_.back(), tokens});
    }
  }

  void at_once(int64_t steps) { pool_.grow_by_steps(growths_, steps); }
  void one_by_one(int64_t steps) {
    for (int64_t step = 0; step < steps; ++step) {
      for (const KvGrowth& one : growths_) {
        ASSERT_TRUE(pool_.grow(one.computed + step, one.computed + step + 1, *one.holding));
      }
    }
  }
  // Takes what is left, and so says in which order it leaves.
  std::string order_of_eviction() {
    KvHolding all;
    for (int64_t tokens = kBlock; pool_.grow(tokens - kBlock, tokens, all); tokens += kBlock) {
    }
    return gone_;
  }
  int64_t free() const { return pool_.free(); }

 private:
  KvPool pool_;
  std::deque<KvHolding> holdings_;
  std::vector<KvGrowth> growths_;
  std::string gone_;
};

TEST(KvPool, ManyStepsAtOnceAreAsManySingleOnes) {
  const KvGroup all{KvRule::all, 0, kBlock}, window{KvRule::window, 7, kBlock},
      chunk{KvRule::chunk, 12, kBlock}, state{KvRule::checkpoint, 0, kBlock};
  const std::vector<std::vector<KvGroup>> models = {
      {all}, {window, all}, {window, window, all}, {chunk, all}, {state, all}};
  for (const std::vector<KvGroup>& groups : models) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      Decoding at_once(groups, seed), one_by_one(groups, seed);
      at_once.at_once(17);
      one_by_one.one_by_one(17);
      ASSERT_EQ(at_once.free(), one_by_one.free());
      const std::string order = at_once.order_of_eviction();
      ASSERT_EQ(order, one_by_one.order_of_eviction());
      ASSERT_FALSE(order.empty());
    }
  }
}

TEST(KvPoolDeathTest, StopsWhenSomebodyHoldsWhatNobodyKnows) {
  KvPool pool(options({{KvRule::all, 0, kBlock}}, 4));
  KvHolding known, unknown;
  pool.take_loaded(kBlock, known);
  pool.take_loaded(kBlock, unknown);
  EXPECT_DEATH(pool.check(std::vector<const KvHolding*>{&known}), "bug: INV-BLOCKS is broken");
}

}  // namespace
}  // namespace kvcap::kv_pool_test
