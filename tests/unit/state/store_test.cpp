#include "state/store.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "unit/stores.h"

namespace kvcap::store_test {
namespace {

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

// ---- what fits nowhere evicts nothing ----

TEST(Store, EvictsNothingForAContextThatFindsNoPlace) {
  Store store({tier(Tier::ssd, 1000)});
  for (Key key : {1, 2}) finish(store, store.put(key, 40, 1));
  store.pin(2);
  EXPECT_TRUE(store.put(3, 70, 2).empty());  // 40 pinned + 70 > 100, even without context 1
  EXPECT_TRUE(store.find(1));
  EXPECT_DOUBLE_EQ(store.dropped_bytes(), 0);
  store.check();
}

TEST(Store, EvictsNothingForAContextOfTooLowAScore) {
  Store store({tier(Tier::ssd, 1000, EvictionKind::score)});
  const std::map<Key, double> scores = {{1, 1}, {2, 5}, {3, 3}};
  for (const auto& [key, score] : scores) store.weigh(key, score);
  for (Key key : {1, 2}) finish(store, store.put(key, 50, 1));
  EXPECT_TRUE(store.put(3, 80, 2).empty());  // would need both places, and 2 is worth more
  EXPECT_TRUE(store.find(1));
  EXPECT_EQ(store.known(), 2U);  // the score of what is not admitted is forgotten
  store.weigh(3, 3);
  finish(store, store.put(3, 50, 3));
  EXPECT_FALSE(store.find(1));
  EXPECT_TRUE(store.find(2));
  EXPECT_TRUE(store.find(3));
  store.check();
}

TEST(Store, PromotesByScoreOnlyWhatIsWorthMore) {
  Store store({tier(Tier::dram, 500, EvictionKind::score), tier(Tier::ssd, 1000)});
  store.weigh(1, 2);
  store.weigh(2, 1);
  finish(store, store.put(1, 50, 1));
  finish(store, store.put(2, 50, 1));
  ASSERT_EQ(store.find(2)->tier, Tier::ssd);  // not admitted to DRAM
  EXPECT_TRUE(store.promote(2, 2).empty());
  EXPECT_EQ(store.find(2)->tier, Tier::ssd);
  store.weigh(2, 3);
  finish(store, store.promote(2, 3));
  EXPECT_EQ(store.find(2)->tier, Tier::dram);
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  store.check();
}

// ---- sizes and times ----

TEST(Store, KeepsTheLastTokensOfAContextThatShrinks) {
  Store store({tier(Tier::ssd, 1000)});
  finish(store, store.put(1, 50, 1));
  const std::vector<Move> first = store.put(1, 70, 2);
  const std::vector<Move> second = store.put(1, 90, 3);
  store.shrink(1, 45);  // tokens 45 to 89 stay: 5 have arrived, 20 and 20 are under way
  EXPECT_EQ(visible(store, 1), 5);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::ssd), 450);
  EXPECT_DOUBLE_EQ(store.dropped_bytes(), 450);
  finish(store, first);
  EXPECT_EQ(visible(store, 1), 25);
  finish(store, second);
  EXPECT_EQ(visible(store, 1), 45);
  finish(store, store.put(1, 60, 4));  // grows on
  EXPECT_EQ(visible(store, 1), 60);
  store.shrink(1, 0);
  EXPECT_FALSE(store.find(1));
  EXPECT_EQ(store.known(), 0U);
  store.check();
}

TEST(Store, ShrinksFromTheLengthOfTheContextAndNotOfWhatIsStored) {
  Store store({tier(Tier::ssd, 500)});
  finish(store, store.put(1, 50, 1));
  EXPECT_TRUE(store.put(1, 80, 2).empty());  // too large: tokens 0 to 49 of 80 stay
  store.shrink(1, 40);                       // tokens 40 to 79: ten of them are stored
  EXPECT_EQ(visible(store, 1), 10);
  store.check();
}

TEST(Store, ForgetsWhatWasNotUsedForItsTimeToLive) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 2000)}, {.ttl_s = 60});
  for (Key key : {1, 2, 3, 4}) finish(store, store.put(key, 50, static_cast<Order>(key)));
  store.touch(1, 50);
  store.pin(2);
  store.expire(62.5);  // 1 is 12.5 s old, 2 in use, 3 59.5 s old
  EXPECT_EQ(store.known(), 4U);
  store.expire(63);
  EXPECT_TRUE(store.find(1));
  EXPECT_TRUE(store.find(2));
  EXPECT_FALSE(store.find(3));
  EXPECT_TRUE(store.find(4));
  store.unpin(2);
  store.expire(64);
  EXPECT_FALSE(store.find(2));
  EXPECT_FALSE(store.find(4));
  EXPECT_DOUBLE_EQ(store.dropped_bytes(), 1500);
  store.check();
}

TEST(Store, DemotesBeforeATierIsFullToKeepAShareFree) {
  StoreTier dram = tier(Tier::dram, 1000);
  dram.free_fraction = 0.3;
  Store store({dram, tier(Tier::ssd, 1000)});
  finish(store, store.put(1, 40, 1));
  finish(store, store.put(2, 30, 2));
  EXPECT_EQ(store.find(1)->tier, Tier::dram);  // 700 of 1000 bytes
  const std::vector<Move> moves = store.put(3, 20, 3);
  ASSERT_EQ(moves.size(), 2U);
  EXPECT_EQ(moves[0].items[0].key, 1U);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::dram), 500);
  finish(store, moves);
  finish(store, store.put(4, 90, 4));  // larger than the 70 % but not than the tier
  EXPECT_EQ(store.find(4)->tier, Tier::dram);
  finish(store, store.put(5, 10, 5));
  EXPECT_EQ(store.find(4)->tier, Tier::ssd);
  store.check();
}

// ---- many at once ----

TEST(Store, PutsManyItemsWithOneMoveForEachPairOfTiers) {
  Store store({tier(Tier::dram, 1000), tier(Tier::ssd, 5000)});
  std::vector<Item> items;
  for (Key key = 0; key < 10; ++key) items.push_back({key, 10});
  std::vector<Move> moves = store.put(items, 1);
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].tokens, 100);
  ASSERT_EQ(moves[0].items.size(), 10U);
  EXPECT_EQ(moves[0].items[3].key, 3U);
  EXPECT_EQ(moves[0].items[3].tokens, 10);
  EXPECT_EQ(moves[0].items[3].tokens_after, 10);
  finish(store, moves);

  items.clear();
  for (Key key = 20; key < 24; ++key) items.push_back({key, 10});
  moves = store.put(items, 2);
  ASSERT_EQ(moves.size(), 2U);
  EXPECT_EQ(moves[0].from, Tier::dram);
  EXPECT_EQ(moves[0].tokens, 40);  // 0 to 3, which were put first
  EXPECT_EQ(moves[0].items[0].key, 0U);
  EXPECT_EQ(moves[1].from, Tier::hbm);
  EXPECT_EQ(moves[1].tokens, 40);
  finish(store, moves);
  EXPECT_EQ(store.find(3)->tier, Tier::ssd);
  EXPECT_EQ(store.find(4)->tier, Tier::dram);
  store.check();
}

TEST(Store, KeepsNoRecordOfContextsThatAreGone) {
  Store store({tier(Tier::ssd, 1000, EvictionKind::score)}, {.ttl_s = 100});
  for (Key key = 0; key < 1000; ++key) {
    store.pin(key);
    store.weigh(key, static_cast<double>(key));
    store.expect(key, static_cast<Order>(key));
    store.expect(key, kNever);
    finish(store, store.put(key, 10, static_cast<Order>(key)));
    store.unpin(key);
  }
  EXPECT_EQ(store.known(), 10U);
  store.expect(5000, 1);  // a job waits for what is not stored
  EXPECT_EQ(store.known(), 11U);
  store.expect(5000, kNever);
  store.expire(2000);
  EXPECT_EQ(store.known(), 0U);
  store.check();
}

TEST(Store, RemembersTheNextUseOfWhatIsNotStoredYet) {
  Store store({tier(Tier::ssd, 1000, EvictionKind::next_use)});
  store.expect(1, 10);
  for (Key key : {1, 2}) finish(store, store.put(key, 50, static_cast<Order>(key)));
  finish(store, store.put(3, 50, 3));  // 1 is older, but a job waits for it
  EXPECT_TRUE(store.find(1));
  EXPECT_FALSE(store.find(2));
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
}  // namespace kvcap::store_test
