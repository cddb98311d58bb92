#include "state/store.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace kvcap {
namespace {

StoreTier tier(Tier kind, double capacity_bytes, EvictionKind eviction = EvictionKind::lru) {
  return {.kind = kind, .capacity_bytes = capacity_bytes, .eviction = eviction, .bytes_per_token = 10};
}

void finish(Store& store, const std::vector<Move>& moves) {
  for (const Move& move : moves) store.done(move);
}

TEST(Store, ShowsAContextWhenItsSaveIsDone) {
  Store store({tier(Tier::ssd, 1000)});
  const std::vector<Move> moves = store.put(1, 50, 0);
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].from, Tier::hbm);
  EXPECT_EQ(moves[0].to, Tier::ssd);
  EXPECT_EQ(moves[0].tokens, 50);
  EXPECT_FALSE(store.find(1));
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::ssd), 500);  // reserved already
  finish(store, moves);
  ASSERT_TRUE(store.find(1));
  EXPECT_EQ(store.find(1)->tokens, 50);
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
}

TEST(Store, SavesOnlyWhatIsNewOfAGrowingContext) {
  Store store({tier(Tier::ssd, 1000)});
  finish(store, store.put(1, 50, 0));
  const std::vector<Move> moves = store.put(1, 70, 1);
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].tokens, 20);
  EXPECT_EQ(store.find(1)->tokens, 50);  // the older part stays readable
  finish(store, moves);
  EXPECT_EQ(store.find(1)->tokens, 70);
  store.check();
}

TEST(Store, DropsTheLeastRecentlyUsedFromItsLastTier) {
  Store store({tier(Tier::ssd, 1000)});
  for (Key key : {1, 2}) finish(store, store.put(key, 50, static_cast<double>(key)));
  store.touch(1, 3);
  finish(store, store.put(3, 40, 4));
  EXPECT_TRUE(store.find(1));
  EXPECT_FALSE(store.find(2));
  EXPECT_TRUE(store.find(3));
  EXPECT_DOUBLE_EQ(store.dropped_bytes(), 500);
  store.check();
}

TEST(Store, FifoForgetsUses) {
  Store store({tier(Tier::ssd, 1000, EvictionKind::fifo)});
  for (Key key : {1, 2}) finish(store, store.put(key, 50, static_cast<double>(key)));
  store.touch(1, 3);
  finish(store, store.put(3, 40, 4));
  EXPECT_FALSE(store.find(1));
  EXPECT_TRUE(store.find(2));
}

TEST(Store, DemotesToTheNextTierBeforeItDrops) {
  Store store({tier(Tier::dram, 1000), tier(Tier::ssd, 1000)});
  for (Key key : {1, 2}) finish(store, store.put(key, 50, static_cast<double>(key)));
  const std::vector<Move> moves = store.put(3, 50, 3);
  ASSERT_EQ(moves.size(), 2U);  // the demotion first
  EXPECT_EQ(moves[0].items[0].key, 1U);
  EXPECT_EQ(moves[0].from, Tier::dram);
  EXPECT_EQ(moves[0].to, Tier::ssd);
  EXPECT_EQ(moves[1].items[0].key, 3U);
  finish(store, moves);
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  EXPECT_EQ(store.find(3)->tier, Tier::dram);
  store.check();
}

TEST(Store, PromotesAContextThatIsReadFromAFartherTier) {
  Store store({tier(Tier::dram, 1000), tier(Tier::ssd, 1000)});
  for (Key key : {1, 2, 3}) finish(store, store.put(key, 50, static_cast<double>(key)));
  ASSERT_EQ(store.find(1)->tier, Tier::ssd);
  store.pin(1);
  finish(store, store.promote(1, 4));
  EXPECT_EQ(store.find(1)->tier, Tier::dram);
  EXPECT_EQ(store.find(2)->tier, Tier::ssd);  // made room
  store.check();
}

TEST(Store, NeverEvictsAPinnedContext) {
  Store store({tier(Tier::ssd, 1000)});
  finish(store, store.put(1, 50, 1));
  store.pin(1);
  finish(store, store.put(2, 50, 2));
  EXPECT_TRUE(store.put(3, 60, 3).empty());  // 60 tokens would need both places
  EXPECT_TRUE(store.find(1));
  store.unpin(1);
  store.check();
}

TEST(Store, RefusesAContextLargerThanItsTiers) {
  Store store({tier(Tier::ssd, 1000)});
  EXPECT_TRUE(store.put(1, 101, 0).empty());
  EXPECT_FALSE(store.find(1));
  store.check();
}

TEST(Store, ServesFromTheGpuTierAndKeepsTheCopyBehindIt) {
  Store store({tier(Tier::hbm, 500), tier(Tier::ssd, 1000)});
  finish(store, store.put(1, 50, 1));
  EXPECT_EQ(store.find(1)->tier, Tier::hbm);
  finish(store, store.put(2, 50, 2));  // takes the only place on the GPU
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  EXPECT_EQ(store.find(2)->tier, Tier::hbm);
  store.check();
}

TEST(Store, ShowsADemotedContextWhenItsBytesHaveArrived) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 1000)});
  finish(store, store.put(1, 50, 1));
  const std::vector<Move> moves = store.put(2, 50, 2);
  EXPECT_FALSE(store.find(1));
  finish(store, moves);
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  EXPECT_EQ(store.find(1)->tokens, 50);
  store.check();
}

TEST(Store, KeepsAContextWhoseSaveIsUnderWay) {
  Store store({tier(Tier::ssd, 1000)});
  const std::vector<Move> under_way = store.put(1, 60, 1);
  EXPECT_TRUE(store.put(2, 60, 2).empty());  // only context 1 could make room
  finish(store, under_way);
  EXPECT_FALSE(store.put(2, 60, 3).empty());
  EXPECT_FALSE(store.find(1));
  store.check();
}

TEST(Store, PutsAContextTooLargeForItsFirstTierIntoTheNext) {
  Store store({tier(Tier::dram, 100), tier(Tier::ssd, 1000)});
  finish(store, store.put(1, 50, 1));
  ASSERT_TRUE(store.find(1));
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  store.check();
}

TEST(Store, PromotesOnlyIntoDram) {
  Store store({tier(Tier::ssd, 500), tier(Tier::remote, 1000)});
  for (Key key : {1, 2}) finish(store, store.put(key, 50, static_cast<double>(key)));
  ASSERT_EQ(store.find(1)->tier, Tier::remote);
  EXPECT_TRUE(store.promote(1, 3).empty());
  EXPECT_EQ(store.find(1)->tier, Tier::remote);
}

TEST(Store, ForgetsAnErasedContextAndIgnoresItsLateSave) {
  Store store({tier(Tier::ssd, 1000)});
  const std::vector<Move> late = store.put(1, 50, 0);
  store.erase(1);
  const std::vector<Move> again = store.put(1, 30, 1);
  finish(store, late);
  EXPECT_FALSE(store.find(1));
  finish(store, again);
  EXPECT_EQ(store.find(1)->tokens, 30);
  store.check();
}

// A reference LRU of one tier that a reader can check by eye.
TEST(Store, AgreesWithABruteForceLruOnRandomUses) {
  constexpr double kCapacityBytes = 3000;
  Store store({tier(Tier::ssd, kCapacityBytes)});
  std::map<Key, int64_t> tokens;
  std::vector<Key> order;
  const RandomStream random(3, "uses");
  for (uint64_t step = 0; step < 3000; ++step) {
    const auto key = static_cast<Key>(30 * random.uniform(step, 0));
    const auto count = 1 + static_cast<int64_t>(60 * random.uniform(step, 1));
    finish(store, store.put(key, count, static_cast<double>(step)));
    tokens[key] = std::max(tokens[key], count);
    std::erase(order, key);
    order.push_back(key);
    const auto used = [&] {
      int64_t sum = 0;
      for (const auto& [one, n] : tokens) sum += n;
      return 10.0 * static_cast<double>(sum);
    };
    while (used() > kCapacityBytes) {
      tokens.erase(order.front());
      order.erase(order.begin());
    }
    for (Key one = 0; one < 30; ++one) {
      ASSERT_EQ(store.find(one).has_value(), tokens.contains(one)) << "step " << step << " key " << one;
    }
    store.check();
  }
}

}  // namespace
}  // namespace kvcap
