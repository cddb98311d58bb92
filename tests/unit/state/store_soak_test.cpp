// Random operations on stores of every make, every sum re-derived after each.
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "state/store.h"

namespace kvcap::store_soak_test {
namespace {

struct Make {
  const char* name;
  std::vector<StoreTier> tiers;
  StoreOptions options = {};
};

StoreTier soak_tier(Tier kind, double capacity_bytes, EvictionKind eviction, double free_fraction = 0) {
  return {.kind = kind,
          .capacity_bytes = capacity_bytes,
          .eviction = eviction,
          .bytes_per_token = kind == Tier::hbm ? 16.0 : 10.0,
          .free_fraction = free_fraction};
}

StoreTier exclusive(StoreTier tier) {
  tier.exclusive = true;
  return tier;
}

StoreTier soft_pinned(StoreTier tier) {
  tier.soft_pin_s = 50;
  tier.lease_s = 3;
  tier.evict_at = 0.9;
  tier.evict_share = 0.05;
  return tier;
}

class StoreSoak : public testing::TestWithParam<Make> {};

// What is known without knowing the store: a copy is never longer than its context, moves are reported as
// they were issued, and bytes that wait are those of demotions in flight.
TEST_P(StoreSoak, HoldsItsSumsThroughRandomOperations) {
  const Make& make = GetParam();
  Store store(make.tiers, make.options);
  const RandomStream random(11, make.name);
  std::map<Key, int64_t> length;
  std::map<Key, int> pins;
  std::vector<Move> in_flight;
  double saved_bytes = 0;
  int64_t prefetched = 0, demoted = 0, joined = 0, hits = 0;
  double now_s = 0;
  const auto issue = [&](std::vector<Move> moves) {
    for (Move& move : moves) {
      int64_t tokens = 0;
      for (const Moved& item : move.items) {
        tokens += item.tokens;
        ASSERT_LE(item.tokens, item.tokens_after);
        ASSERT_LE(item.tokens_after, length[item.key]);
      }
      ASSERT_EQ(tokens, move.tokens);
      if (move.from == Tier::hbm) saved_bytes += 10.0 * static_cast<double>(tokens);
      joined += move.items.size() > 1;
      demoted += move.from != Tier::hbm && move.from < move.to;
      prefetched += move.from > move.to;
      in_flight.push_back(std::move(move));
    }
  };
  for (uint64_t step = 0; step < 6000; ++step) {
    now_s += random.exponential(step, 9);
    const auto key = static_cast<Key>(40 * random.uniform(step, 0));
    const auto drawn = [&](uint64_t i, double most) {
      return static_cast<int64_t>(most * random.uniform(step, i));
    };
    switch (drawn(1, 16)) {
      case 0:
      case 1:
      case 2:
        length[key] += 1 + drawn(2, 25);
        if (length[key] > 130) {
          length[key] = 1 + drawn(3, 40);
          store.erase(key);
        }
        issue(store.put(key, length[key], now_s));
        break;
      case 3: {
        std::vector<Item> items;
        for (uint64_t i = 0; i < 6; ++i) {
          const auto one = static_cast<Key>(40 + 60 * random.uniform(step, 20 + i));
          length[one] = 8;
          items.push_back({one, 8, one % 2 == 0});
        }
        issue(store.put(items, now_s));
        break;
      }
      case 4:
      case 5:
        if (store.find(key)) ++hits;
        store.touch(key, now_s);
        issue(store.promote(key, now_s));
        break;
      case 6:
      case 7:
        issue(store.prefetch(key, now_s));
        break;
      case 8:
        store.pin(key);
        ++pins[key];
        break;
      case 9:
        // The oldest pin is undone, so that few are there at a time.
        for (auto& [one, count] : pins) {
          if (count == 0 || drawn(4, 3) == 0) continue;
          store.unpin(one);
          --count;
        }
        break;
      case 10:
        store.expect(key, drawn(5, 3) == 0 ? kNever : now_s + static_cast<double>(drawn(6, 50)));
        break;
      case 11:
        store.weigh(key, static_cast<double>(drawn(7, 10)));
        break;
      case 12:
        if (drawn(8, 4) == 0) {
          store.erase(key);
        } else if (length.contains(key)) {
          length[key] = std::max<int64_t>(1, length[key] / 2);
          store.shrink(key, length[key]);
        }
        break;
      case 13:
        store.expire(now_s);
        break;
      default: {
        // Lanes are FIFO each, but not to each other.
        std::map<std::pair<Tier, Tier>, bool> blocked;
        for (std::size_t i = 0; i < in_flight.size();) {
          bool& behind = blocked[{in_flight[i].from, in_flight[i].to}];
          behind = behind || drawn(30 + i, 2) == 0;
          if (behind) {
            ++i;
            continue;
          }
          store.done(in_flight[i]);
          in_flight.erase(in_flight.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
    }
    store.check();
    std::map<Tier, double> leaving_bytes;
    for (const Move& move : in_flight) {
      if (move.from != Tier::hbm && move.from < move.to) {
        leaving_bytes[move.from] += 10.0 * static_cast<double>(move.tokens);
      }
    }
    for (const StoreTier& one : make.tiers) {
      ASSERT_EQ(store.leaving_bytes(one.kind), leaving_bytes[one.kind]);
      ASSERT_LE(store.occupied_bytes(one.kind), one.capacity_bytes);
    }
    const std::optional<Hit> hit = store.find(key);
    ASSERT_LE(hit ? hit->tokens : 0, length[key]);
    ASSERT_LE(store.known(), 100U);
  }
  for (const Move& move : in_flight) store.done(move);
  store.check();
  if (make.tiers.front().exclusive) {
    EXPECT_GT(saved_bytes, store.entered_bytes());  // what comes back from the GPU has not left the host
  } else {
    EXPECT_DOUBLE_EQ(store.entered_bytes(), saved_bytes);
  }
  EXPECT_GT(demoted, make.tiers.size() > 1 ? 50 : -1);
  EXPECT_GT(prefetched, make.tiers.size() > 1 ? 20 : -1);
  EXPECT_GT(joined, 50);
  EXPECT_GT(hits, 50);
  for (Key key = 0; key < 100; ++key) {
    for (; pins[key] > 0; --pins[key]) store.unpin(key);
    store.expect(key, kNever);
    store.weigh(key, 0);
    store.erase(key);
  }
  EXPECT_EQ(store.known(), 0U);
  EXPECT_DOUBLE_EQ(store.entered_bytes(), store.dropped_bytes());
  store.check();
}

std::vector<Make> makes() {
  using enum EvictionKind;
  std::vector<Make> all = {
      {"lfu_then_fifo", {soak_tier(Tier::dram, 3000, lfu), soak_tier(Tier::ssd, 8000, fifo)}},
      {"next_use_that_expires",
       {soak_tier(Tier::dram, 3000, next_use, 0.1), soak_tier(Tier::ssd, 8000, next_use)},
       {.ttl_s = 300}},
      {"inclusive", {soak_tier(Tier::dram, 3000, lru), soak_tier(Tier::ssd, 8000, lru)}, {.inclusive = true}},
      {"write_through",
       {soak_tier(Tier::dram, 3000, lru), soak_tier(Tier::ssd, 8000, lru)},
       {.inclusive = true, .write = WriteMode::through}},
      {"eager",
       {soak_tier(Tier::dram, 3000, lru), soak_tier(Tier::ssd, 8000, lru)},
       {.inclusive = true, .write = WriteMode::eager}},
      {"eager_tails",
       {soak_tier(Tier::hbm, 2000, lru), soak_tier(Tier::dram, 3000, lfu),
        soak_tier(Tier::ssd, 5000, s3_fifo, 0.2), soak_tier(Tier::remote, 6000, lru)},
       {.inclusive = true, .write = WriteMode::eager, .unit_tokens = 3}},
      {"tails",
       {soak_tier(Tier::dram, 3000, lru), soak_tier(Tier::ssd, 8000, lru)},
       {.inclusive = true, .unit_tokens = 4}},
      {"tails_of_one_copy",
       {soak_tier(Tier::dram, 3000, next_use, 0.1), soak_tier(Tier::ssd, 8000, s3_fifo)},
       {.unit_tokens = 1, .ttl_s = 300}},
      {"tails_written_through",
       {soak_tier(Tier::hbm, 2000, lru), soak_tier(Tier::dram, 3000, lfu),
        soak_tier(Tier::ssd, 5000, fifo, 0.2)},
       {.inclusive = true, .write = WriteMode::through, .unit_tokens = 3}},
      {"four_tiers",
       {soak_tier(Tier::hbm, 3000, lru), soak_tier(Tier::dram, 1500, next_use, 0.25),
        soak_tier(Tier::ssd, 4000, lru), soak_tier(Tier::remote, 6000, score, 0.1)},
       {.ttl_s = 200}},
      {"inclusive_four_tiers",
       {soak_tier(Tier::hbm, 3000, score), soak_tier(Tier::dram, 1500, score),
        soak_tier(Tier::ssd, 4000, s3_fifo, 0.1), soak_tier(Tier::remote, 6000, lfu)},
       {.inclusive = true, .ttl_s = 200}},
      {"exclusive",
       {exclusive(soak_tier(Tier::hbm, 3000, lru)), soak_tier(Tier::dram, 1500, lru),
        soak_tier(Tier::ssd, 6000, lru)},
       {.inclusive = true}},
      {"exclusive_by_score",
       {exclusive(soak_tier(Tier::hbm, 3000, score, 0.1)), soak_tier(Tier::dram, 1500, score, 0.2),
        soak_tier(Tier::ssd, 4000, score), soak_tier(Tier::remote, 6000, lru)},
       {.inclusive = true, .ttl_s = 200}},
      {"exclusive_throughout",
       {exclusive(soak_tier(Tier::hbm, 3000, lru)), soak_tier(Tier::dram, 1500, lru),
        soak_tier(Tier::ssd, 6000, lru)}},
      {"soft_pins",
       {soft_pinned(soak_tier(Tier::dram, 3000, lru)), soft_pinned(soak_tier(Tier::ssd, 8000, sharded_lru))},
       {.inclusive = true}},
      {"soft_pins_of_one_copy",
       {soft_pinned(soak_tier(Tier::dram, 3000, lfu, 0.1)),
        soft_pinned(soak_tier(Tier::ssd, 5000, next_use))},
       {.unit_tokens = 4, .ttl_s = 300}},
      {"ssd_and_remote", {soak_tier(Tier::ssd, 3000, lru), soak_tier(Tier::remote, 6000, lru)}},
      {"one_tier", {soak_tier(Tier::ssd, 5000, next_use)}},
  };
  for (const EvictionRow& row : kEvictions) {
    if (row.kind == none) continue;
    all.push_back({row.name.data(),
                   {soak_tier(Tier::dram, 3000, row.kind, 0.2), soak_tier(Tier::ssd, 8000, row.kind)}});
  }
  return all;
}

std::string make_name(const testing::TestParamInfo<Make>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(OfManyMakes, StoreSoak, testing::ValuesIn(makes()), make_name);

}  // namespace
}  // namespace kvcap::store_soak_test
