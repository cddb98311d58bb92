// Leases and soft pins beside a literal store: every context in a plain list, every rule in words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "state/store.h"
#include "unit/stores.h"

namespace kvcap::store_leases_test {
namespace {

struct LiteralEntry {
  Key key = 0;
  int64_t tokens = 0;
  Order leased_until = -1, soft_until = -1;
};

// One tier: its contexts, the least recently used first, and those with a soft pin in the order of their last
// soft pin.
struct LiteralTier {
  StoreTier options;
  std::list<LiteralEntry> entries;
  std::list<Key> soft;

  int64_t capacity() const { return static_cast<int64_t>(options.capacity_bytes / 10); }
  int64_t used() const {
    int64_t tokens = 0;
    for (const LiteralEntry& one : entries) tokens += one.tokens;
    return tokens;
  }
  std::list<LiteralEntry>::iterator find(Key key) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const LiteralEntry& one) { return one.key == key; });
  }
  int64_t tokens(Key key) {
    const auto at = find(key);
    return at == entries.end() ? 0 : at->tokens;
  }
  void remove(Key key) {
    entries.erase(find(key));
    soft.remove(key);
  }
  void use(Key key) { entries.splice(entries.end(), entries, find(key)); }
  void pin_softly(Key key, Order now) {
    if (options.soft_pin_s <= 0) return;
    find(key)->soft_until = now + options.soft_pin_s;
    soft.remove(key);
    soft.push_back(key);
  }
};

// A context lies in one tier, the nearest with room; victims go down to the next tier that takes them, or
// leave. A victim is not the context that needs the room, is not pinned, is not on its way into the tier and
// was not read within the lease. The least recently used without a soft pin leaves first, then the oldest
// soft pin.
class LiteralStore {
 public:
  explicit LiteralStore(const std::vector<StoreTier>& tiers) {
    for (const StoreTier& tier : tiers) tiers_.push_back({.options = tier});
  }

  void put(Key key, int64_t tokens, bool shared, Order now) {
    begin(now);
    shared_[key] |= shared;
    const std::optional<std::size_t> at = tier_of(key);
    if (!at) {
      for (std::size_t i = 0; i < tiers_.size(); ++i) {
        if (place(i, key, tokens)) break;
      }
    } else if (tokens <= tiers_[*at].tokens(key)) {
      tiers_[*at].use(key);
      if (shared_[key]) tiers_[*at].pin_softly(key, now);
    } else if (!place(*at, key, tokens)) {
      for (std::size_t i = *at + 1; i < tiers_.size(); ++i) {
        if (!place(i, key, tokens)) continue;
        tiers_[*at].remove(key);
        break;
      }
    }
    keep_room_free();
  }
  void read(Key key, Order now) {
    begin(now);
    const std::optional<std::size_t> at = tier_of(key);
    if (!at) return;
    LiteralTier& tier = tiers_[*at];
    tier.use(key);
    if (tier.options.lease_s > 0) tier.find(key)->leased_until = now + tier.options.lease_s;
    if (shared_[key]) tier.pin_softly(key, now);
  }
  void promote(Key key, Order now) {
    begin(now);
    const std::optional<std::size_t> at = tier_of(key);
    if (!at || *at == 0) return;
    const int64_t tokens = tiers_[*at].tokens(key);
    std::optional<std::vector<Key>> victims = victims_for(0, key, tokens);
    if (!victims) return;
    tiers_[*at].remove(key);
    for (Key victim : *victims) evict(0, victim);
    enter(0, key, tokens);
    arriving_.erase(key);  // it came with the read
    keep_room_free();
  }
  void erase(Key key) {
    const std::optional<std::size_t> at = tier_of(key);
    if (at) tiers_[*at].remove(key);
    shared_.erase(key);
  }
  void pin(Key key) { ++pins_[key]; }
  void unpin(Key key) { --pins_[key]; }

  std::optional<std::size_t> tier_of(Key key) {
    for (std::size_t i = 0; i < tiers_.size(); ++i) {
      if (tiers_[i].tokens(key) > 0) return i;
    }
    return std::nullopt;
  }
  int64_t tokens(Key key) {
    const std::optional<std::size_t> at = tier_of(key);
    return at ? tiers_[*at].tokens(key) : 0;
  }
  int64_t leases_that_kept = 0, soft_pins_that_left = 0;

 private:
  // All moves of the call before have ended.
  void begin(Order now) {
    now_ = now;
    arriving_.clear();
  }

  std::optional<std::vector<Key>> victims_for(std::size_t i, Key newcomer, int64_t tokens) {
    LiteralTier& tier = tiers_[i];
    int64_t missing = tier.used() + tokens - tier.capacity();
    std::vector<Key> victims;
    const auto take = [&](Key key) {
      LiteralEntry& one = *tier.find(key);
      if (missing <= 0 || key == newcomer || pins_[key] > 0 || arriving_.contains(key)) return;
      if (one.leased_until > now_) {
        ++leases_that_kept;
        return;
      }
      victims.push_back(key);
      missing -= one.tokens;
    };
    for (const LiteralEntry& one : tier.entries) {
      if (one.soft_until <= now_) take(one.key);
    }
    const std::size_t without = victims.size();
    for (Key key : tier.soft) {
      if (tier.find(key)->soft_until > now_) take(key);
    }
    if (missing > 0) return std::nullopt;
    soft_pins_that_left += static_cast<int64_t>(victims.size() - without);
    return victims;
  }
  bool place(std::size_t i, Key key, int64_t tokens) {
    const std::optional<std::vector<Key>> victims = victims_for(i, key, tokens - tiers_[i].tokens(key));
    if (!victims) return false;
    for (Key victim : *victims) evict(i, victim);
    enter(i, key, tokens);
    return true;
  }
  void evict(std::size_t i, Key key) {
    for (std::size_t below = i + 1; below < tiers_.size(); ++below) {
      if (place(below, key, tiers_[i].tokens(key))) break;
    }
    tiers_[i].remove(key);
    if (!tier_of(key)) shared_.erase(key);
  }
  void enter(std::size_t i, Key key, int64_t tokens) {
    LiteralTier& tier = tiers_[i];
    if (tier.tokens(key) == 0) tier.entries.push_back({.key = key});
    tier.find(key)->tokens = tokens;
    tier.use(key);
    arriving_.insert(key);
    if (shared_[key]) tier.pin_softly(key, now_);
  }
  void keep_room_free() {
    for (std::size_t i = 0; i < tiers_.size(); ++i) {
      LiteralTier& tier = tiers_[i];
      const double capacity = static_cast<double>(tier.capacity());
      int64_t limit = static_cast<int64_t>(capacity * (1 - tier.options.free_fraction) + 1e-6);
      if (tier.options.evict_at > 0 && static_cast<double>(tier.used()) > tier.options.evict_at * capacity) {
        const double batch = std::ceil(tier.options.evict_share * capacity);
        limit = std::min(limit, tier.used() - static_cast<int64_t>(batch));
      }
      while (tier.used() > limit) {
        const std::optional<std::vector<Key>> victims =
            victims_for(i, kNoKey, tier.capacity() - tier.used() + 1);
        if (!victims) break;
        evict(i, victims->front());
      }
    }
  }

  static constexpr Key kNoKey = 1'000'000;
  Order now_ = 0;
  std::vector<LiteralTier> tiers_;
  std::map<Key, bool> shared_;
  std::map<Key, int> pins_;
  std::set<Key> arriving_;
};

struct LeasedMake {
  const char* name;
  std::vector<StoreTier> tiers;
};

StoreTier leased(StoreTier tier, double lease_s, double soft_pin_s = 0) {
  tier.lease_s = lease_s;
  tier.soft_pin_s = soft_pin_s;
  return tier;
}

StoreTier in_batches(StoreTier tier) {
  tier.evict_at = 0.9;
  tier.evict_share = 0.1;
  return tier;
}

const std::vector<LeasedMake>& leased_makes() {
  static const std::vector<LeasedMake> kMakes = {
      {"no_lease", {tier(Tier::ssd, 3000)}},
      {"short_lease", {leased(tier(Tier::ssd, 3000), 1)}},
      {"long_lease", {leased(tier(Tier::ssd, 3000), 20)}},
      {"soft_pins", {leased(tier(Tier::ssd, 3000), 0, 30)}},
      {"lease_and_soft_pins", {leased(tier(Tier::ssd, 3000), 3, 30)}},
      {"soft_pins_shorter_than_leases", {leased(tier(Tier::ssd, 3000), 15, 5)}},
      {"leases_below_dram", {tier(Tier::dram, 1500), leased(tier(Tier::ssd, 3000), 5)}},
      {"leases_in_both", {leased(tier(Tier::dram, 1500), 2, 20), leased(tier(Tier::ssd, 3000), 8, 40)}},
      {"batches", {in_batches(leased(tier(Tier::ssd, 3000), 4, 25))}},
      {"three_tiers",
       {leased(tier(Tier::dram, 900), 1), leased(tier(Tier::ssd, 1800), 4, 10),
        leased(tier(Tier::remote, 3000), 10, 60)}},
  };
  return kMakes;
}

class LeasedStore : public testing::TestWithParam<LeasedMake> {};

// Contexts grow, are read, pinned, promoted and erased at random dates, several of them at the same one.
TEST_P(LeasedStore, HoldsWhatALiteralStoreHoldsThroughRandomOperations) {
  constexpr Key kKeys = 30;
  const std::vector<StoreTier>& tiers = GetParam().tiers;
  int64_t hits = 0, leases_that_kept = 0, soft_pins_that_left = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Store store(tiers);
    LiteralStore literal(tiers);
    const RandomStream random(seed, GetParam().name);
    std::map<Key, int64_t> length;
    std::map<Key, int> pins;
    Order now = 0;
    for (uint64_t step = 0; step < 2000; ++step) {
      const auto drawn = [&](uint64_t i, double most) {
        return static_cast<int64_t>(most * random.uniform(step, i));
      };
      if (drawn(1, 3) > 0) now += random.exponential(step, 2);
      const auto key = static_cast<Key>(drawn(3, kKeys));
      switch (drawn(4, 10)) {
        case 0:
        case 1:
        case 2:
        case 3: {
          length[key] = length[key] > 100 ? length[key] : length[key] + 1 + drawn(5, 40);
          const Item item{key, length[key], key % 3 == 0};
          finish(store, store.put({&item, 1}, now));
          literal.put(key, length[key], item.shared, now);
          break;
        }
        case 4:
        case 5:
        case 6:
          hits += literal.tokens(key) > 0;
          store.touch(key, now);
          literal.read(key, now);
          if (tiers.front().kind != Tier::dram) break;
          finish(store, store.promote(key, now));
          literal.promote(key, now);
          break;
        case 7:
          if (pins[key]++ > 0) break;
          store.pin(key);
          literal.pin(key);
          break;
        case 8:
          for (auto& [one, count] : pins) {
            if (std::exchange(count, 0) == 0) continue;
            store.unpin(one);
            literal.unpin(one);
          }
          break;
        default:
          if (drawn(6, 3) > 0) break;
          store.erase(key);
          literal.erase(key);
          length[key] = 0;
      }
      store.check();
      for (Key one = 0; one < kKeys; ++one) {
        const std::optional<std::size_t> at = literal.tier_of(one);
        const std::optional<Hit> hit = store.find(one);
        ASSERT_EQ(hit ? hit->tokens : 0, literal.tokens(one))
            << "seed " << seed << ", step " << step << ", context " << one;
        if (at) {
          ASSERT_EQ(hit->tier, tiers[*at].kind) << "seed " << seed << ", step " << step;
        }
      }
    }
    leases_that_kept += literal.leases_that_kept;
    soft_pins_that_left += literal.soft_pins_that_left;
  }
  EXPECT_GT(hits, 400);
  const bool leases =
      std::any_of(tiers.begin(), tiers.end(), [](const auto& one) { return one.lease_s > 0; });
  const bool soft =
      std::any_of(tiers.begin(), tiers.end(), [](const auto& one) { return one.soft_pin_s > 0; });
  EXPECT_EQ(leases_that_kept > 0, leases);
  EXPECT_EQ(soft_pins_that_left > 0, soft);
}

INSTANTIATE_TEST_SUITE_P(Of, LeasedStore, testing::ValuesIn(leased_makes()),
                         [](const auto& one) { return std::string(one.param.name); });

// 90 of 100 tokens are one context, which was read at 0 and grows when its lease of 1 s has ended.
TEST(LeasedStore, DoesNotEvictAContextForItsOwnGrowthWhenItsLeaseEnds) {
  Store store({leased(tier(Tier::ssd, 1000), 1)});
  finish(store, store.put(1, 90, 0));
  store.touch(1, 0);
  finish(store, store.put(2, 10, 0));
  finish(store, store.put(1, 95, 1));
  EXPECT_EQ(visible(store, 1), 95);
  EXPECT_EQ(visible(store, 2), 0);
  store.check();
}

}  // namespace
}  // namespace kvcap::store_leases_test
