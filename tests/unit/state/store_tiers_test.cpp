// What lies in two tiers or is on its way from one to another.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/stores.h"

namespace kvcap::store_tiers_test {
namespace {

// ---- full write queues ----

TEST(Store, LeavesWhereItIsWhatAFullQueueRefusesToLetGrow) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 5000)});
  finish(store, store.put(1, 20, 1));
  store.accept_moves([](Tier, Tier to, int64_t, int64_t, bool) { return to != Tier::dram; });
  EXPECT_TRUE(store.put(1, 30, 2).empty());
  EXPECT_EQ(store.find(1)->tier, Tier::dram);
  EXPECT_EQ(visible(store, 1), 20);
  store.check();
}

TEST(Store, MakesNoCopyThatIsLongerThanOneAboveIt) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 5000), tier(Tier::remote, 5000)},
              {.inclusive = true, .write = WriteMode::through});
  finish(store, store.put(1, 20, 1));
  store.accept_moves([](Tier, Tier to, int64_t, int64_t, bool) { return to != Tier::ssd; });
  finish(store, store.put(1, 30, 2));
  EXPECT_EQ(visible(store, 1), 30);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::ssd), 200);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::remote), 200);
  store.check();
  // When the queue has room again all copies grow.
  store.accept_moves(nullptr);
  finish(store, store.put(1, 40, 3));
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::remote), 400);
  store.check();
}

// ---- an exclusive tier on the GPU ----

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
  store.expect(3, 12);  // as soon as 1
  EXPECT_TRUE(store.prefetch(1, 4).empty());
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

// Half of 100 tokens is to be kept free; 30 are pinned. A save may go beyond, what is fetched ahead may not.
TEST(Store, PrefetchesNothingIntoTheShareToKeepFree) {
  StoreTier dram = tier(Tier::dram, 1000);
  dram.free_fraction = 0.5;
  Store store({dram, tier(Tier::ssd, 2000)});
  finish(store, store.put(1, 40, 1));
  store.pin(2);
  finish(store, store.put(2, 30, 2));
  ASSERT_EQ(store.find(1)->tier, Tier::ssd);
  ASSERT_EQ(store.find(2)->tier, Tier::dram);
  EXPECT_TRUE(store.prefetch(1, 3).empty());
  EXPECT_TRUE(store.take_in(3, 40, Tier::remote, true, 4).empty());
  EXPECT_EQ(visible(store, 3), 0);
  store.take_in(3, 40, Tier::remote, false, 5);
  store.unpin(2);
  EXPECT_FALSE(store.prefetch(1, 6).empty());
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

// ---- inclusive copies ----

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

// ---- write-through ----

TEST(Store, WritesThroughToEveryTierAndEvictsAtNoCost) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 2000), tier(Tier::remote, 2000)},
              {.inclusive = true, .write = WriteMode::through});
  std::vector<Move> moves = store.put(1, 30, 1);
  ASSERT_EQ(moves.size(), 3U);  // GPU to DRAM, and from there to both below
  for (const Move& move : moves) EXPECT_EQ(move.tokens, 30);
  finish(store, moves);
  moves = store.put(1, 40, 2);
  ASSERT_EQ(moves.size(), 3U);
  for (const Move& move : moves) EXPECT_EQ(move.tokens, 10);  // what is new
  finish(store, moves);
  moves = store.put(2, 50, 3);
  ASSERT_EQ(moves.size(), 3U);
  for (const Move& move : moves) EXPECT_EQ(move.items[0].key, 2U);  // 1 leaves DRAM without a move
  finish(store, moves);
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  EXPECT_EQ(visible(store, 1), 40);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::remote), 900);
  store.check();
}

TEST(Store, WritesThroughOnlyWhereThereIsRoom) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 200)},
              {.inclusive = true, .write = WriteMode::through});
  const std::vector<Move> moves = store.put(1, 30, 1);
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].to, Tier::dram);
  finish(store, moves);
  store.check();
}

// ---- eager write-back ----

StoreOptions eager() { return {.inclusive = true, .write = WriteMode::eager}; }

TEST(Store, CopiesDownWhatIsSavedWhileThereIsRoomForDramAndDemotesTheRest) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 1500)}, eager());
  finish(store, store.put(1, 30, 1));
  std::vector<Move> moves = store.put(1, 40, 2);
  ASSERT_EQ(moves.size(), 2U);                                // GPU to DRAM, and from there to the SSD
  for (const Move& move : moves) EXPECT_EQ(move.tokens, 10);  // what is new
  finish(store, moves);
  moves = store.put(2, 50, 3);
  ASSERT_EQ(moves.size(), 2U);
  for (const Move& move : moves) EXPECT_EQ(move.items[0].key, 2U);  // 1 leaves DRAM without a move
  finish(store, moves);
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  EXPECT_EQ(visible(store, 1), 40);

  // The SSD has room for 60 more tokens, and DRAM may need that for 50: 3 has no copy until it leaves DRAM.
  moves = store.put(3, 50, 4);
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].to, Tier::dram);
  finish(store, moves);
  moves = store.put(4, 50, 5);
  ASSERT_EQ(moves.size(), 2U);
  EXPECT_EQ(moves[0].from, Tier::dram);
  EXPECT_EQ(moves[0].items[0].key, 3U);
  finish(store, moves);
  EXPECT_EQ(store.find(3)->tier, Tier::ssd);
  EXPECT_EQ(visible(store, 1), 40);
  EXPECT_DOUBLE_EQ(store.dropped_bytes(), 0);
  store.check();
}

TEST(Store, CopiesDownToTheTierBelowDramAlone) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 1000), tier(Tier::remote, 5000)}, eager());
  finish(store, store.put(1, 30, 1));
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::ssd), 300);
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::remote), 0);
  Store without_dram({tier(Tier::ssd, 1000), tier(Tier::remote, 5000)}, eager());
  finish(without_dram, without_dram.put(1, 30, 1));
  EXPECT_DOUBLE_EQ(without_dram.occupied_bytes(Tier::remote), 0);
}

// What lies beyond either share is evicted in the background, so that it is no room.
TEST(Store, CopiesNothingIntoTheShareThatATierKeepsFree) {
  StoreTier kept_free = tier(Tier::ssd, 1000);
  kept_free.free_fraction = 0.3;
  StoreTier at_watermark = tier(Tier::ssd, 1000);
  at_watermark.evict_at = 0.7;
  at_watermark.evict_share = 0.05;
  for (const StoreTier& ssd : {kept_free, at_watermark}) {
    Store store({tier(Tier::dram, 200), ssd}, eager());
    for (Key key = 1; key <= 7; ++key) {
      finish(store, store.put(key, 10, static_cast<Order>(key)));
      EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::ssd), 100.0 * static_cast<double>(std::min<Key>(key, 5)));
    }
    store.check();
  }
}

TEST(Store, DemotesWhatAFullQueueKeptFromBeingCopiedDown) {
  Store store({tier(Tier::dram, 500), tier(Tier::ssd, 1000)}, eager());
  store.accept_moves([](Tier, Tier to, int64_t, int64_t, bool) { return to != Tier::ssd; });
  finish(store, store.put(1, 50, 1));
  EXPECT_DOUBLE_EQ(store.occupied_bytes(Tier::ssd), 0);
  store.accept_moves(nullptr);
  finish(store, store.put(2, 50, 2));
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  EXPECT_EQ(visible(store, 1), 50);
  EXPECT_DOUBLE_EQ(store.dropped_bytes(), 0);
  store.check();
}

}  // namespace
}  // namespace kvcap::store_tiers_test
