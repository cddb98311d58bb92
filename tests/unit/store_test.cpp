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

int64_t visible(const Store& store, Key key) {
  const std::optional<Hit> hit = store.find(key);
  return hit ? hit->tokens : 0;
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

StoreTier exclusive(double capacity_bytes, EvictionKind eviction = EvictionKind::lru) {
  StoreTier front = tier(Tier::hbm, capacity_bytes, eviction);
  front.exclusive = true;
  return front;
}

// 50 tokens on the GPU, 50 in DRAM, all of them on SSD: two contexts near at hand, not one twice.
TEST(Store, GivesRoomInDramToOthersForWhatLiesOnAnExclusiveGpuTier) {
  Store store({exclusive(500), tier(Tier::dram, 500), tier(Tier::ssd, 5000)}, {.inclusive = true});
  for (Key key : {1, 2, 3}) store.preload(key, 50);
  EXPECT_EQ(store.find(1)->tier, Tier::dram);
  EXPECT_TRUE(store.put(1, 50, 1).empty());  // it is on SSD as well: nothing is written
  EXPECT_EQ(store.find(1)->tier, Tier::hbm);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::dram), 0);
  EXPECT_TRUE(store.promote(2, 2).empty());
  EXPECT_EQ(store.find(2)->tier, Tier::dram);

  // 2 takes the place on the GPU, and 1 the one that 2 leaves in DRAM: a copy out of the GPU.
  const std::vector<Move> moves = store.put(2, 50, 3);
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].from, Tier::hbm);
  EXPECT_EQ(moves[0].to, Tier::dram);
  EXPECT_EQ(moves[0].tokens, 50);
  EXPECT_EQ(moves[0].items[0].key, 1U);
  EXPECT_EQ(store.find(2)->tier, Tier::hbm);
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);  // until it has arrived
  finish(store, moves);
  EXPECT_EQ(store.find(1)->tier, Tier::dram);
  store.check();
}

TEST(Store, KeepsTheOnlyCopyInDramOfWhatLiesOnAnExclusiveGpuTier) {
  Store store({exclusive(500), tier(Tier::dram, 500), tier(Tier::ssd, 5000)}, {.inclusive = true});
  finish(store, store.put(1, 50, 1));
  EXPECT_EQ(store.find(1)->tier, Tier::hbm);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::dram), 500);
  EXPECT_TRUE(store.put(1, 50, 2).empty());
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::dram), 500);  // the SSD still has none
  store.check();
}

TEST(Store, DropsWhatLeavesAnExclusiveGpuTierAndIsWorthLessThanAllInDram) {
  Store store({exclusive(500, EvictionKind::score), tier(Tier::dram, 500, EvictionKind::score),
               tier(Tier::ssd, 5000, EvictionKind::score)},
              {.inclusive = true});
  for (Key key : {1, 2, 3}) store.preload(key, 50);
  store.weigh(1, 1);
  EXPECT_TRUE(store.put(1, 50, 1).empty());  // on the GPU
  store.weigh(2, 2);
  EXPECT_TRUE(store.promote(2, 2).empty());  // in DRAM
  store.weigh(3, 3);
  EXPECT_TRUE(store.put(3, 50, 3).empty());  // 3 displaces 1, which displaces nobody
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  EXPECT_EQ(store.find(2)->tier, Tier::dram);
  EXPECT_EQ(store.find(3)->tier, Tier::hbm);
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

// ---- a demotion's bytes ----

TEST(Store, FreesWhatADemotionLeavesAtOnceAndCountsItsBytesUntilTheyArrive) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 1000)});
  finish(store, store.put(1, 50, 1));
  const std::vector<Move> moves = store.put(2, 40, 2);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::dram), 400);
  EXPECT_DOUBLE_EQ(store.leaving_bytes(Tier::dram), 500);  // still in the write queue
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::ssd), 500);  // reserved
  finish(store, moves);
  EXPECT_DOUBLE_EQ(store.leaving_bytes(Tier::dram), 0);
  EXPECT_DOUBLE_EQ(store.came_bytes(Tier::dram), 900);
  EXPECT_DOUBLE_EQ(store.came_bytes(Tier::ssd), 500);
}

TEST(Store, ShowsWhatIsSavedBehindADemotionOnlyWhenBothHaveArrived) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 1000)});
  finish(store, store.put(1, 50, 1));
  const std::vector<Move> demotion = store.put(2, 50, 2);
  const std::vector<Move> save = store.put(1, 60, 3);  // tokens 50 to 59 go where the context lies now
  ASSERT_EQ(save.size(), 1U);
  EXPECT_EQ(save[0].to, Tier::ssd);
  EXPECT_EQ(save[0].tokens, 10);
  finish(store, save);
  EXPECT_FALSE(store.find(1));  // its first 50 tokens are under way
  finish(store, demotion);
  EXPECT_EQ(visible(store, 1), 60);
  store.check();
}

TEST(Store, DemotesPastATierThatCannotTakeIt) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 200), tier(Tier::remote, 1000)});
  finish(store, store.put(1, 50, 1));
  finish(store, store.put(2, 50, 2));
  EXPECT_EQ(store.find(1)->tier, Tier::remote);
  store.check();
}

// ---- a context that has outgrown its tier ----

TEST(Store, MovesAContextThatHasOutgrownItsTierDown) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 1000)});
  finish(store, store.put(1, 40, 1));
  const std::vector<Move> moves = store.put(1, 60, 2);
  ASSERT_EQ(moves.size(), 2U);
  EXPECT_EQ(moves[0].from, Tier::dram);  // what is stored: 40 tokens
  EXPECT_EQ(moves[0].tokens, 40);
  EXPECT_EQ(moves[1].from, Tier::hbm);  // what is new: 20
  EXPECT_EQ(moves[1].tokens, 20);
  EXPECT_EQ(moves[1].to, Tier::ssd);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::dram), 0);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::ssd), 600);
  store.done(moves[1]);
  EXPECT_FALSE(store.find(1));
  store.done(moves[0]);
  EXPECT_EQ(visible(store, 1), 60);
  EXPECT_DOUBLE_EQ(store.entered_bytes(), 600);
  EXPECT_DOUBLE_EQ(store.dropped_bytes(), 0);
  store.check();
}

TEST(Store, KeepsTheFirstPartOfAContextThatHasOutgrownEveryTier) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 550)});
  finish(store, store.put(1, 40, 1));
  EXPECT_TRUE(store.put(1, 60, 2).empty());
  EXPECT_EQ(visible(store, 1), 40);
  EXPECT_EQ(store.find(1)->tier, Tier::dram);
  store.check();
}

TEST(Store, MovesDownPastACopyThatCannotGrow) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 550), tier(Tier::remote, 2000)}, {.inclusive = true});
  finish(store, store.put(1, 40, 1));
  finish(store, store.put(2, 50, 2));
  finish(store, store.promote(1, 3));  // DRAM and SSD: 1; remote: 2
  ASSERT_EQ(store.find(2)->tier, Tier::remote);
  finish(store, store.put(1, 60, 4));
  EXPECT_EQ(store.find(1)->tier, Tier::remote);
  EXPECT_EQ(visible(store, 1), 60);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::dram) + store.occupied_bytes(Tier::ssd), 0);
  EXPECT_DOUBLE_EQ(store.dropped_bytes(), 0);
  store.check();
}

TEST(Store, LeavesAContextThatHasOutgrownItsTierWhilePartOfItIsUnderWay) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 1000)});
  const std::vector<Move> under_way = store.put(1, 40, 1);
  EXPECT_TRUE(store.put(1, 60, 2).empty());
  finish(store, under_way);
  EXPECT_EQ(visible(store, 1), 40);
  finish(store, store.put(1, 60, 3));  // the next one moves it down
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  EXPECT_EQ(visible(store, 1), 60);
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

// ---- prefetch ----

TEST(Store, PrefetchesWhileTheOldCopyServes) {
  Store store({tier(Tier::dram, 1000), tier(Tier::ssd, 2000)});
  for (Key key : {1, 2, 3}) finish(store, store.put(key, 50, static_cast<Order>(key)));
  ASSERT_EQ(store.find(1)->tier, Tier::ssd);
  const std::vector<Move> moves = store.prefetch(1, 4);
  ASSERT_EQ(moves.size(), 2U);
  EXPECT_EQ(moves[0].from, Tier::ssd);
  EXPECT_EQ(moves[0].to, Tier::dram);
  EXPECT_EQ(moves[0].items[0].key, 1U);
  EXPECT_EQ(moves[1].from, Tier::dram);  // 2 makes room
  EXPECT_EQ(moves[1].items[0].key, 2U);
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::ssd), 1000);  // both: 1 until it is copied, 2 reserved
  EXPECT_TRUE(store.prefetch(1, 4).empty());                // under way
  finish(store, moves);
  EXPECT_EQ(store.find(1)->tier, Tier::dram);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::ssd), 500);
  EXPECT_TRUE(store.prefetch(1, 5).empty());  // there
  EXPECT_DOUBLE_EQ(store.dropped_bytes(), 0);
  store.check();
}

TEST(Store, KeepsTheSourceOfAPrefetchWhoseVictimsNeedItsPlace) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 500)});
  for (Key key : {1, 2}) finish(store, store.put(key, 50, static_cast<Order>(key)));
  const std::vector<Move> moves = store.prefetch(1, 3);  // 2 cannot be demoted to where 1 still lies
  EXPECT_EQ(visible(store, 1), 50);
  EXPECT_FALSE(store.find(2));
  finish(store, moves);
  EXPECT_EQ(store.find(1)->tier, Tier::dram);
  EXPECT_DOUBLE_EQ(store.dropped_bytes(), 500);
  store.check();
}

TEST(Store, RefusesAPrefetchThatWouldEvictWhatIsNeededSooner) {
  Store store({tier(Tier::dram, 1000, EvictionKind::next_use), tier(Tier::ssd, 2000)});
  for (Key key : {1, 2, 3}) finish(store, store.put(key, 50, static_cast<Order>(key)));
  ASSERT_EQ(store.find(1)->tier, Tier::ssd);
  store.expect(2, 10);
  store.expect(3, 11);
  store.expect(1, 12);
  EXPECT_TRUE(store.prefetch(1, 4).empty());
  EXPECT_EQ(store.find(2)->tier, Tier::dram);
  EXPECT_EQ(store.find(3)->tier, Tier::dram);
  store.expect(3, 13);  // now 3 is needed after 1
  finish(store, store.prefetch(1, 5));
  EXPECT_EQ(store.find(1)->tier, Tier::dram);
  EXPECT_EQ(store.find(2)->tier, Tier::dram);
  EXPECT_EQ(store.find(3)->tier, Tier::ssd);
  store.expect(2, kNever);  // its job has started: nobody waits for it
  finish(store, store.prefetch(3, 6));
  EXPECT_EQ(store.find(2)->tier, Tier::ssd);
  store.check();
}

TEST(Store, GrowsAContextThatIsBeingPrefetched) {
  Store store({tier(Tier::dram, 1000), tier(Tier::ssd, 2000)});
  for (Key key : {1, 2, 3}) finish(store, store.put(key, 50, static_cast<Order>(key)));
  const std::vector<Move> prefetch = store.prefetch(1, 4);
  const std::vector<Move> save = store.put(1, 60, 5);  // 3 makes room
  ASSERT_EQ(save.back().tokens, 10);
  EXPECT_EQ(save.back().to, Tier::dram);
  finish(store, save);
  EXPECT_EQ(visible(store, 1), 50);  // the old copy
  finish(store, prefetch);
  EXPECT_EQ(visible(store, 1), 60);
  EXPECT_EQ(store.find(1)->tier, Tier::dram);
  store.check();
}

// ---- sizes, times, copies ----

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

TEST(Store, PreloadsAnInclusiveCopyIntoEveryTierWithRoom) {
  Store store({tier(Tier::dram, 600), tier(Tier::ssd, 2000)}, {.inclusive = true});
  for (Key key : {1, 2}) store.preload(key, 50);
  EXPECT_EQ(store.find(1)->tier, Tier::dram);
  EXPECT_EQ(store.find(2)->tier, Tier::ssd);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::ssd), 1000);
  EXPECT_DOUBLE_EQ(store.entered_bytes(), 1000);  // a context counts once
  store.check();
}

TEST(Store, BringsAnInclusiveCopyDownWithoutAMove) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 2000)}, {.inclusive = true});
  for (Key key : {1, 2}) finish(store, store.put(key, 50, static_cast<Order>(key)));
  std::vector<Move> moves = store.promote(1, 3);
  ASSERT_EQ(moves.size(), 1U);  // 2 goes down for the first time
  EXPECT_EQ(moves[0].items[0].key, 2U);
  finish(store, moves);
  EXPECT_EQ(store.find(1)->tier, Tier::dram);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::ssd), 1000);  // of both
  EXPECT_TRUE(store.promote(2, 4).empty());                 // 1 lies below already
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  EXPECT_EQ(visible(store, 1), 50);
  EXPECT_DOUBLE_EQ(store.entered_bytes(), 1000);
  store.check();
}

TEST(Store, CarriesDownOnlyWhatAnInclusiveCopyLacks) {
  Store store({tier(Tier::dram, 600), tier(Tier::ssd, 2000)}, {.inclusive = true});
  for (Key key : {1, 2}) finish(store, store.put(key, 50, static_cast<Order>(key)));
  finish(store, store.promote(1, 3));
  finish(store, store.put(1, 60, 4));
  const std::vector<Move> moves = store.promote(2, 5);
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].tokens, 10);
  EXPECT_EQ(visible(store, 1), 50);  // until the rest has arrived
  finish(store, moves);
  EXPECT_EQ(visible(store, 1), 60);
  store.check();
}

TEST(Store, LosesNothingWhenACopyLeavesThatAlsoLiesNearer) {
  Store store({tier(Tier::dram, 1000), tier(Tier::ssd, 500)}, {.inclusive = true});
  for (Key key : {1, 2, 3}) finish(store, store.put(key, 50, static_cast<Order>(key)));
  finish(store, store.promote(1, 4));  // 2 finds no place below: DRAM 3 and 1, SSD 1
  EXPECT_DOUBLE_EQ(store.dropped_bytes(), 500);
  finish(store, store.put(4, 50, 5));  // 3 takes the place of the copy
  EXPECT_DOUBLE_EQ(store.dropped_bytes(), 500);
  EXPECT_EQ(store.find(1)->tier, Tier::dram);
  EXPECT_EQ(store.find(3)->tier, Tier::ssd);
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

// An exclusive tier on the GPU and nothing behind it, as policies have that keep nothing.
TEST(Store, AnExclusiveTierMayStandAlone) {
  Store store({{.kind = Tier::hbm, .capacity_bytes = 100, .bytes_per_token = 1, .exclusive = true}});
  EXPECT_TRUE(store.put(1, 60, 1).empty());
  EXPECT_TRUE(store.put(2, 60, 2).empty());  // in its place
  store.check();
  EXPECT_FALSE(store.find(1));
  ASSERT_TRUE(store.find(2));
  EXPECT_EQ(store.find(2)->tokens, 60);
}

}  // namespace
}  // namespace kvcap
