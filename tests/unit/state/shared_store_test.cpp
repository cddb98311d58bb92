#include <gtest/gtest.h>

#include "state/store.h"

namespace kvcap::shared_store_test {
namespace {

StoreTier tier(Tier kind, double tokens) {
  return {.kind = kind, .capacity_bytes = tokens, .bytes_per_token = 1};
}

// Two nodes with DRAM for 100 tokens each and a shared tier behind them.
class TwoNodes : public testing::Test {
 protected:
  void put(Store& node, Key key, int64_t tokens, bool arrives = true) {
    const Item item{key, tokens};
    const std::vector<Move> moves = node.put({&item, 1}, ++now_);
    for (const Move& move : moves) {
      if (arrives) node.done(move);
    }
    check();
  }
  void check() {
    a_.check();
    b_.check();
    shared_.check();
  }
  static std::pair<Tier, int64_t> found(const Store& node, Key key) {
    const std::optional<Hit> hit = node.find(key);
    return hit ? std::pair(hit->tier, hit->tokens) : std::pair(Tier::hbm, int64_t{0});
  }
  const std::pair<Tier, int64_t> nothing_{Tier::hbm, 0};

  Store shared_{{tier(Tier::remote, 1000)}};
  Store a_{{tier(Tier::dram, 100)}, {}, &shared_};
  Store b_{{tier(Tier::dram, 100)}, {}, &shared_};
  Order now_ = 0;
};

TEST_F(TwoNodes, WhatOneSavesTheOtherFinds) {
  put(a_, 7, 60);
  EXPECT_EQ(found(a_, 7), (std::pair{Tier::dram, int64_t{60}}));
  EXPECT_EQ(found(b_, 7), (std::pair{Tier::remote, int64_t{60}}));
  EXPECT_FALSE(b_.find(7, Reach::own));
}

TEST_F(TwoNodes, WhatBothHaveFromTheBeginningIsInTheSharedTierOnce) {
  a_.preload(7, 60);
  b_.preload(7, 60);
  check();
  EXPECT_EQ(found(a_, 7), (std::pair{Tier::dram, int64_t{60}}));
  EXPECT_EQ(found(b_, 7), (std::pair{Tier::dram, int64_t{60}}));
  EXPECT_DOUBLE_EQ(shared_.occupied_bytes(Tier::remote), 60);
}

TEST_F(TwoNodes, WhatLeavesANodeStaysInTheSharedTier) {
  put(a_, 1, 60);
  put(a_, 2, 60);
  EXPECT_EQ(found(a_, 1), (std::pair{Tier::remote, int64_t{60}}));
  EXPECT_EQ(found(a_, 2), (std::pair{Tier::dram, int64_t{60}}));
}

TEST_F(TwoNodes, ARemoteContextComesIntoDramWithItsRead) {
  put(a_, 7, 60);
  EXPECT_TRUE(b_.promote(7, ++now_).empty());
  check();
  EXPECT_EQ(found(b_, 7), (std::pair{Tier::dram, int64_t{60}}));
  EXPECT_EQ(found(a_, 7), (std::pair{Tier::dram, int64_t{60}}));
}

TEST_F(TwoNodes, TheLongestCopyIsFoundAndTheNearestOfEqualOnes) {
  put(a_, 7, 40);
  put(b_, 7, 60);
  EXPECT_EQ(found(a_, 7), (std::pair{Tier::remote, int64_t{60}}));
  EXPECT_TRUE(a_.promote(7, ++now_).empty());
  check();
  EXPECT_EQ(found(a_, 7), (std::pair{Tier::dram, int64_t{60}}));
  EXPECT_EQ(found(b_, 7), (std::pair{Tier::dram, int64_t{60}}));
}

TEST_F(TwoNodes, APrefetchedContextServesFromAfarUntilItHasArrived) {
  put(a_, 7, 60);
  const std::vector<Move> moves = b_.prefetch(7, ++now_);
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].from, Tier::remote);
  EXPECT_EQ(moves[0].to, Tier::dram);
  EXPECT_EQ(moves[0].tokens, 60);
  EXPECT_TRUE(b_.fetching(7));
  EXPECT_EQ(found(b_, 7), (std::pair{Tier::remote, int64_t{60}}));
  b_.done(moves[0]);
  check();
  EXPECT_FALSE(b_.fetching(7));
  EXPECT_EQ(found(b_, 7), (std::pair{Tier::dram, int64_t{60}}));
}

TEST_F(TwoNodes, AFailureEmptiesTheNodeAndNotTheSharedTier) {
  put(a_, 7, 60);
  put(b_, 8, 60);
  a_.fail();
  check();
  EXPECT_FALSE(a_.find(7, Reach::own));
  EXPECT_EQ(found(a_, 7), (std::pair{Tier::remote, int64_t{60}}));
  EXPECT_EQ(found(b_, 8), (std::pair{Tier::dram, int64_t{60}}));
}

TEST_F(TwoNodes, WhatAFailedNodeWasWritingNeverArrives) {
  put(a_, 7, 60);
  put(a_, 7, 90, false);
  put(a_, 8, 5, false);
  a_.fail();
  check();
  EXPECT_EQ(found(b_, 7), (std::pair{Tier::remote, int64_t{60}}));
  EXPECT_EQ(found(b_, 8), nothing_);
  put(b_, 8, 5);  // and may be written again
  EXPECT_EQ(found(a_, 8), (std::pair{Tier::remote, int64_t{5}}));
}

TEST_F(TwoNodes, AFailedNodeHoldsNothingInTheSharedTier) {
  put(a_, 7, 60);
  ASSERT_EQ(b_.prefetch(7, ++now_).size(), 1U);
  b_.fail();
  put(a_, 8, 990);  // needs the place of 7
  EXPECT_EQ(found(b_, 7), nothing_);
  EXPECT_EQ(found(b_, 8), (std::pair{Tier::remote, int64_t{990}}));
}

TEST_F(TwoNodes, WhatAnotherNodeIsWritingDoesNotGrow) {
  put(a_, 7, 30, false);
  put(b_, 7, 50);
  EXPECT_EQ(found(b_, 7), (std::pair{Tier::dram, int64_t{50}}));
  EXPECT_EQ(found(a_, 7), nothing_);
}

}  // namespace
}  // namespace kvcap::shared_store_test
