// Contexts that lose their ends (StoreOptions::unit_tokens), beside an order of single blocks.
#include <gtest/gtest.h>

#include <list>
#include <map>

#include "base/random.h"
#include "unit/stores.h"

namespace kvcap::store_tails_test {
namespace {

TEST(TailsFirst, TheEndOfTheFirstToLeaveMakesTheRoom) {
  // 10 tokens of room: 6 of one context, then 7 of another take 3 from the end of the first.
  Store store({tier(Tier::ssd, 100)}, {.unit_tokens = 1});
  finish(store, store.put(1, 6, 0));
  finish(store, store.put(2, 7, 1));
  EXPECT_EQ(visible(store, 1), 3);
  EXPECT_EQ(visible(store, 2), 7);
  EXPECT_EQ(store.dropped_bytes(), 30);
}

TEST(TailsFirst, WhatStaysIsWholeBlocks) {
  Store store({tier(Tier::ssd, 100)}, {.unit_tokens = 4});
  finish(store, store.put(1, 9, 0));
  finish(store, store.put(2, 5, 1));  // 5 of 9 could stay, which are one block and a part of one
  EXPECT_EQ(visible(store, 1), 4);
}

TEST(TailsFirst, WhatIsMissingIsSavedAgain) {
  Store store({tier(Tier::ssd, 100)}, {.unit_tokens = 1});
  finish(store, store.put(1, 6, 0));
  finish(store, store.put(2, 7, 1));
  const std::vector<Move> moves = store.put(1, 8, 2);  // of 8 tokens 3 are there
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].tokens, 5);
  finish(store, moves);
  EXPECT_EQ(visible(store, 1), 8);
  EXPECT_EQ(visible(store, 2), 2);
}

TEST(TailsFirst, AContextThatATierBelowTakesGoesThereAsAWhole) {
  Store store({tier(Tier::dram, 100), tier(Tier::ssd, 1000)}, {.inclusive = true, .unit_tokens = 1});
  finish(store, store.put(1, 6, 0));
  finish(store, store.put(2, 7, 1));
  EXPECT_EQ(store.find(1)->tier, Tier::ssd);
  EXPECT_EQ(visible(store, 1), 6);
  EXPECT_EQ(store.occupied_bytes(Tier::dram), 70);
}

TEST(TailsFirst, AShareToKeepFreeIsTakenFromEnds) {
  StoreTier tier_with_room = tier(Tier::ssd, 100);
  tier_with_room.free_fraction = 0.3;
  Store store({tier_with_room}, {.unit_tokens = 1});
  finish(store, store.put(1, 6, 0));
  finish(store, store.put(2, 3, 1));  // 9 of 7 tokens
  EXPECT_EQ(visible(store, 1), 4);
  EXPECT_EQ(visible(store, 2), 3);
}

// Blocks in the order of their last use, of which the first context's front is the most recent.
class LiteralTier {
 public:
  explicit LiteralTier(std::size_t blocks) : blocks_(blocks) {}

  void put(Key key, int64_t blocks) {
    if (static_cast<std::size_t>(blocks) > blocks_) {
      touch(key, there(key));
      return;
    }
    touch(key, std::max(blocks, there(key)));
    while (order_.size() > blocks_) order_.pop_front();
  }
  void use(Key key) { touch(key, there(key)); }
  int64_t there(Key key) const {
    int64_t blocks = 0;
    for (const auto& block : order_) blocks += block.first == key;
    return blocks;
  }

 private:
  void touch(Key key, int64_t blocks) {
    for (int64_t i = blocks - 1; i >= 0; --i) {
      order_.remove({key, i});
      order_.push_back({key, i});
    }
  }
  std::size_t blocks_;
  std::list<std::pair<Key, int64_t>> order_;  // the next to leave first
};

TEST(TailsFirst, KeepsTheBlocksThatAnOrderOfSingleBlocksKeeps) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const RandomStream random(seed, "tails");
    const int64_t unit = 1 + static_cast<int64_t>(7 * random.uniform(0, 9));
    const int64_t capacity = 20 + static_cast<int64_t>(60 * random.uniform(0, 8));
    Store store({tier(Tier::dram, static_cast<double>(10 * unit * capacity))}, {.unit_tokens = unit});
    LiteralTier literal(static_cast<std::size_t>(capacity));
    std::map<Key, int64_t> length;
    int64_t partial = 0;
    for (uint64_t step = 0; step < 1500; ++step) {
      const auto key = static_cast<Key>(12 * random.uniform(step, 0));
      if (random.uniform(step, 1) < 0.5) {
        int64_t& blocks = length[key];
        blocks += 1 + static_cast<int64_t>(6 * random.uniform(step, 2));
        if (blocks > capacity) {  // a new conversation
          blocks = 1;
          continue;
        }
        finish(store, store.put(key, unit * blocks, static_cast<double>(step)));
        literal.put(key, blocks);
      } else {
        store.touch(key, static_cast<double>(step));
        literal.use(key);
      }
      store.check();
      for (Key one = 0; one < 12; ++one) {
        ASSERT_EQ(visible(store, one), unit * literal.there(one)) << "seed " << seed << " step " << step;
        partial += visible(store, one) > 0 && visible(store, one) < unit * length[one];
      }
    }
    EXPECT_GT(partial, 100);
  }
}

// Of 10 tokens half are to stay free: a warm start fills 5.
TEST(WarmStart, LeavesTheShareFreeThatEvictionsKeepFree) {
  StoreTier half = tier(Tier::ssd, 100);
  half.free_fraction = 0.5;
  Store store({half});
  store.preload(1, 4);
  store.preload(2, 2);  // a sixth token
  store.preload(3, 1);
  EXPECT_EQ(visible(store, 1), 4);
  EXPECT_EQ(visible(store, 2), 0);
  EXPECT_EQ(visible(store, 3), 1);
}

}  // namespace
}  // namespace kvcap::store_tails_test
