// Stack distances: by hand, against an LRU store that is played turn by turn, and sampled.
#include "workload/reused_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>

#include "laws/machines.h"

namespace kvcap::reused_tokens_test {
namespace {

Workload two_sessions() {
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 2}, {.first_turn = 2, .turn_count = 1}};
  workload.turns = {{.input_tokens = 90, .output_tokens = 10, .time_s = 0},
                    {.input_tokens = 5, .output_tokens = 5, .time_s = 10},
                    {.input_tokens = 40, .output_tokens = 10, .time_s = 5}};
  return workload;
}

TEST(ReusedTokens, CountWhatWasUsedSinceAndThemselves) {
  // Session 0 leaves 100 tokens at 0 s, session 1 leaves 50 at 5 s, session 0 returns at 10 s.
  const std::vector<ReusedTokens> reused = reused_tokens(two_sessions());
  ASSERT_EQ(reused.size(), 1U);
  EXPECT_EQ(reused[0].tokens, 100);
  EXPECT_EQ(reused[0].distance_tokens, 100 + 50);
  EXPECT_DOUBLE_EQ(reused[0].idle_s, 10);
}

TEST(ReusedTokens, TruncateContextsToTheLongestSequence) {
  const std::vector<ReusedTokens> reused = reused_tokens(two_sessions(), {.max_context_tokens = 60});
  ASSERT_EQ(reused.size(), 1U);
  EXPECT_EQ(reused[0].tokens, 60);
  EXPECT_EQ(reused[0].distance_tokens, 60 + 50);
}

TEST(ReusedTokens, OfAWarmStartLieInTheOrderOfTheSessions) {
  Workload workload;
  workload.warm_start = true;
  for (uint32_t i = 0; i < 3; ++i) {
    workload.sessions.push_back(
        {.first_turn = i, .turn_count = 1, .context_tokens = 100, .history_grows = false});
    workload.turns.push_back({.input_tokens = 1, .output_tokens = 1, .time_s = 1});
  }
  // The first context is the nearest. Every use moves it in front of the others.
  const std::vector<ReusedTokens> reused = reused_tokens(workload);
  ASSERT_EQ(reused.size(), 3U);
  EXPECT_EQ(reused[0].distance_tokens, 100);
  EXPECT_EQ(reused[1].distance_tokens, 200);
  EXPECT_EQ(reused[2].distance_tokens, 300);
}

TEST(ReusedTokens, OfTextsCountAsTheSameAnywhereOrBehindTheSameTexts) {
  Workload workload;
  workload.piece_keys = PieceKeys::text;
  workload.pieces = {{1, 10}, {2, 20}, {2, 20}, {1, 10}, {1, 10}, {2, 20}};
  workload.piece_begin = {0, 2, 4, 6};
  for (uint32_t i = 0; i < 3; ++i) {
    workload.sessions.push_back({.first_turn = i, .turn_count = 1});
    workload.turns.push_back({.input_tokens = 30, .output_tokens = 1, .time_s = 1.0 * i});
  }
  EXPECT_EQ(reused_tokens(workload, {.by_prefix = false}).size(), 4U);
  // The third prompt is the first again; the second, in the other order, was used in between.
  const std::vector<ReusedTokens> reused = reused_tokens(workload, {.by_prefix = true});
  ASSERT_EQ(reused.size(), 2U);
  for (const ReusedTokens& one : reused) EXPECT_EQ(one.distance_tokens, 30 + 30);
}

// Tokens that LRU of a capacity finds, as a share of all reused ones.
double found_share(const std::vector<ReusedTokens>& reused, int64_t capacity_tokens) {
  double found = 0, all = 0;
  for (const ReusedTokens& one : reused) {
    all += static_cast<double>(one.tokens);
    if (one.distance_tokens <= capacity_tokens) found += static_cast<double>(one.tokens);
  }
  return found / all;
}

TEST(ReusedTokens, OfASampleOfTheSessionsLieAsFarAsAllOfThem) {
  const Workload workload = laws::chats(20000, 20);  // about 100,000 turns
  const std::vector<ReusedTokens> all = reused_tokens(workload);
  const std::vector<ReusedTokens> sample = reused_tokens(workload, {.max_turns = 10000});
  EXPECT_LT(sample.size(), all.size() / 8);
  for (int64_t capacity : {250'000, 500'000, 1'000'000}) {
    EXPECT_NEAR(found_share(sample, capacity), found_share(all, capacity), 0.05) << capacity;
  }
}

}  // namespace
}  // namespace kvcap::reused_tokens_test
