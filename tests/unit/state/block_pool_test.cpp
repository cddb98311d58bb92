#include "state/block_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace kvcap::block_pool_test {
namespace {

using BlockName = std::pair<Key, int64_t>;  // the text and the first token

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

TEST(BlockRuns, SayHowFarTheyReachIntoTheirParts) {
  const std::vector<BlockRun> runs = block_runs(std::vector<TextRun>{{7, 0, 6, 70}, {9, 0, 11, 90}}, 4);
  ASSERT_EQ(runs.size(), 3U);
  const auto reach = [](const BlockRun& run) { return std::pair(run.part, run.part_first + 4 * run.blocks); };
  EXPECT_EQ(reach(runs[0]), (std::pair{Key{70}, int64_t{4}}));
  EXPECT_EQ(reach(runs[1]), (std::pair{Key{70}, int64_t{6}}));  // the mixed block ends the part
  EXPECT_EQ(reach(runs[2]), (std::pair{Key{90}, int64_t{10}}));
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

  void open(int64_t blocks, bool caching = true, int64_t retained = 0) {
    pool_ = std::make_unique<BlockPool>(blocks, 1, caching, 1, retained);
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

TEST_F(Story, RetainedHeadsLeaveAfterYoungerBlocksThatAreNot) {
  open(6, true, 2);
  give_back(compute({{1, 0, 3}}));
  give_back(compute({{2, 0, 3}}));
  EXPECT_EQ(evict(5), (Names{{1, 2}, {2, 2}, {1, 1}, {1, 0}, {2, 1}}));
  EXPECT_EQ(find({{2, 0, 3}}).blocks, 1);
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

// Two groups of layers: one room and one order of eviction, but nobody finds the other's blocks.
TEST(BlockPool, GroupsOfLayersShareTheRoomAndNotTheirBlocks) {
  BlockPool pool(8, 1, true, 2);
  const std::vector<BlockRun> chain = block_runs(std::vector<TextRun>{{1, 0, 4}}, 1);
  BlockPool::Holding first(0), second(1);
  pool.take(4, first);
  pool.name(chain, 4, first);
  EXPECT_EQ(pool.find(chain, 4, 0).blocks, 4);
  EXPECT_EQ(pool.find(chain, 4, 1).blocks, 0);
  pool.take(4, second);
  pool.name(chain, 3, second);
  EXPECT_EQ(pool.free(), 0);
  pool.give_back(first);
  pool.give_back(second);
  EXPECT_EQ(pool.find(chain, 4, 1).blocks, 3);
  BlockPool::Holding other(0);
  pool.take(3, other);  // the nameless block, then the two that group 0 gave back first
  EXPECT_EQ(pool.find(chain, 4, 0).blocks, 2);
  EXPECT_EQ(pool.find(chain, 4, 1).blocks, 3);
  pool.check(std::vector<const BlockPool::Holding*>{&other});
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

TEST(BlockPoolDeathTest, StopsWhenSomebodyHoldsWhatNobodyKnows) {
  BlockPool pool(4, 4, true);
  BlockPool::Holding known, unknown;
  pool.take(1, known);
  pool.take(1, unknown);
  EXPECT_DEATH(pool.check(std::vector<const BlockPool::Holding*>{&known}), "bug: INV-BLOCKS is broken");
}

}  // namespace
}  // namespace kvcap::block_pool_test
