// The full blocks of prompts: which runs they form, and that equal tokens get equal names.
#include "state/block_runs.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace kvcap::block_runs_test {
namespace {

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

}  // namespace
}  // namespace kvcap::block_runs_test
