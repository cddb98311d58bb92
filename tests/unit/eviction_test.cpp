// Evictions against simulators that a reader can check by eye: linear scans, no shared code.
#include "state/eviction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/random.h"
#include "state/store.h"

namespace kvcap::eviction_test {
namespace {

using Trace = std::vector<Key>;

// Keys 0 to keys - 1; key k is drawn in proportion to 1 / (k + 1)^alpha.
Trace random_trace(uint64_t seed, std::size_t length, std::size_t keys, double alpha) {
  std::vector<double> cumulated;
  double sum = 0;
  for (std::size_t k = 1; k <= keys; ++k) {
    cumulated.push_back(sum += std::pow(static_cast<double>(k), -alpha));
  }
  const RandomStream random(seed, "trace");
  Trace trace;
  for (std::size_t i = 0; i < length; ++i) {
    const auto drawn = std::upper_bound(cumulated.begin(), cumulated.end(), sum * random.uniform(i));
    trace.push_back(static_cast<Key>(
        std::min<std::ptrdiff_t>(drawn - cumulated.begin(), static_cast<std::ptrdiff_t>(keys) - 1)));
  }
  return trace;
}

// When each use's key is used next, kNever at its last.
std::vector<Order> next_uses(const Trace& trace) {
  std::vector<Order> next(trace.size(), kNever);
  std::map<Key, std::size_t> seen;
  for (std::size_t i = trace.size(); i-- > 0;) {
    if (seen.contains(trace[i])) next[i] = static_cast<Order>(seen[trace[i]]);
    seen[trace[i]] = i;
  }
  return next;
}

// A cache of `places` keys of one size: what a trace hits, and what is stored at the end.
struct Outcome {
  std::vector<bool> hits;
  std::set<Key> stored;
  bool operator==(const Outcome&) const = default;
  int64_t misses() const { return std::count(hits.begin(), hits.end(), false); }
};

using Tell = std::function<void(Store&, std::size_t step)>;

Outcome run(EvictionKind kind, const Trace& trace, int64_t places, const Tell& tell = nullptr) {
  Store store({{.kind = Tier::ssd,
                .capacity_bytes = static_cast<double>(places),
                .eviction = kind,
                .bytes_per_token = 1}});
  Outcome outcome;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const auto now = static_cast<Order>(i);
    if (tell) tell(store, i);
    outcome.hits.push_back(store.find(trace[i]).has_value());
    store.touch(trace[i], now);
    for (const Move& move : store.put(trace[i], 1, now)) store.done(move);
    if (i % 64 == 0) store.check();
  }
  for (Key key : std::set<Key>(trace.begin(), trace.end())) {
    if (store.find(key)) outcome.stored.insert(key);
  }
  return outcome;
}

// What is stored leaves in the order of `rank`, least first; rank(key) may look at all that has happened.
struct Scan {
  std::vector<Key> stored;
  std::map<Key, double> entered, last, count;
};

Outcome scan(const Trace& trace, std::size_t places,
             const std::function<std::tuple<double, double>(const Scan&, Key, std::size_t)>& rank,
             bool admission = false) {
  Scan state;
  Outcome outcome;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Key key = trace[i];
    const bool hit = std::find(state.stored.begin(), state.stored.end(), key) != state.stored.end();
    outcome.hits.push_back(hit);
    const auto now = static_cast<double>(i);
    if (!hit && state.stored.size() == places) {
      const auto victim = std::min_element(state.stored.begin(), state.stored.end(), [&](Key a, Key b) {
        return rank(state, a, i) < rank(state, b, i);
      });
      if (admission && std::get<0>(rank(state, *victim, i)) > std::get<0>(rank(state, key, i))) continue;
      state.stored.erase(victim);
    }
    if (!hit) {
      state.stored.push_back(key);
      state.entered[key] = now;
      state.count[key] = 0;
    }
    state.last[key] = now;
    ++state.count[key];
  }
  outcome.stored.insert(state.stored.begin(), state.stored.end());
  return outcome;
}

constexpr std::array<double, 3> kAlphas = {0.0, 0.8, 1.2};

// ---- lru ----

TEST(Lru, MissesExactlyTheUsesWhoseStackDistanceExceedsTheCache) {
  for (double alpha : kAlphas) {
    const Trace trace = random_trace(1, 2000, 60, alpha);
    // The distance of a use: how many different keys were used since the same key was.
    std::vector<std::size_t> distance;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      std::set<Key> between;
      std::size_t j = i;
      while (j > 0 && trace[j - 1] != trace[i]) between.insert(trace[--j]);
      distance.push_back(j == 0 ? trace.size() : between.size());
    }
    for (std::size_t places : {1U, 2U, 7U, 30U, 59U, 60U}) {
      const Outcome outcome = run(EvictionKind::lru, trace, static_cast<int64_t>(places));
      for (std::size_t i = 0; i < trace.size(); ++i) {
        ASSERT_EQ(outcome.hits[i], distance[i] < places) << "use " << i << ", " << places << " places";
      }
    }
  }
}

// ---- sharded_lru ----

// Every shard a list of its own, the least recently used first; what gives room next is the first that has
// something behind the one that gave last.
Outcome by_shard(const Trace& trace, std::size_t places) {
  std::array<std::vector<Key>, 1024> shards;
  std::size_t stored = 0, turn = 0;
  Outcome outcome;
  for (Key key : trace) {
    std::vector<Key>& own = shards[mixed(key) % shards.size()];
    const auto at = std::find(own.begin(), own.end(), key);
    outcome.hits.push_back(at != own.end());
    if (at != own.end()) {
      own.erase(at);
    } else if (stored == places) {
      while (shards[turn % shards.size()].empty()) ++turn;
      std::vector<Key>& other = shards[turn++ % shards.size()];
      other.erase(other.begin());
    } else {
      ++stored;
    }
    own.push_back(key);
  }
  for (const std::vector<Key>& shard : shards) outcome.stored.insert(shard.begin(), shard.end());
  return outcome;
}

TEST(ShardedLru, AgreesWithAListForEachShard) {
  for (double alpha : kAlphas) {
    const Trace trace = random_trace(4, 20000, 4000, alpha);
    for (std::size_t places : {1U, 50U, 2000U, 3500U}) {
      EXPECT_EQ(run(EvictionKind::sharded_lru, trace, static_cast<int64_t>(places)), by_shard(trace, places));
    }
  }
}

TEST(ShardedLru, PassesHeldKeysByAndFindsThemInTheirPlaceAgain) {
  // Slots 0, 1 and 2 in the first shard, 3 in a later one.
  std::vector<Key> keys;
  for (Key key = 1; keys.size() < 3; ++key) {
    if (mixed(key) % 1024 == 0) keys.push_back(key);
  }
  keys.push_back(mixed(1) % 1024 == 0 ? 2 : 1);
  const std::unique_ptr<Eviction> eviction = make_sharded_lru();
  for (Slot slot = 0; slot < 4; ++slot) eviction->enter(slot, keys[slot]);
  eviction->hold(0);
  EXPECT_EQ(eviction->victim(), 1U);
  eviction->hold(1);
  eviction->hold(2);
  EXPECT_EQ(eviction->victim(), 3U);
  eviction->release(0);
  eviction->release(2);
  EXPECT_EQ(eviction->victim(), 0U);
  eviction->leave(0, true);
  EXPECT_EQ(eviction->victim(), 3U) << "the first shard has given";
  eviction->leave(3, false);
  EXPECT_EQ(eviction->victim(), 2U) << "nobody else has anything";
}

// ---- fifo, lfu ----

TEST(Fifo, AgreesWithAScanForTheOldest) {
  for (double alpha : kAlphas) {
    const Trace trace = random_trace(2, 3000, 50, alpha);
    const auto rank = [](const Scan& s, Key key, std::size_t) { return std::tuple(s.entered.at(key), 0.0); };
    for (int places : {1, 5, 20})
      EXPECT_EQ(run(EvictionKind::fifo, trace, places), scan(trace, places, rank));
  }
}

TEST(Lfu, AgreesWithAScanForTheLeastUsed) {
  for (double alpha : kAlphas) {
    const Trace trace = random_trace(3, 3000, 50, alpha);
    const auto rank = [](const Scan& s, Key key, std::size_t) {
      return std::tuple(s.count.at(key), s.last.at(key));
    };
    for (int places : {1, 5, 20}) EXPECT_EQ(run(EvictionKind::lfu, trace, places), scan(trace, places, rank));
  }
}

TEST(Lfu, CountsFromTheEntryAndBreaksTiesByTheLastUse) {
  // two places; after "1 1 2" the counts are 1: 2, 2: 1. 3 evicts 2; 2 comes back with one use and evicts 3.
  const Outcome outcome = run(EvictionKind::lfu, {1, 1, 2, 3, 2, 1}, 2);
  EXPECT_EQ(outcome.hits, (std::vector<bool>{false, true, false, false, false, true}));
  EXPECT_EQ(outcome.stored, (std::set<Key>{1, 2}));
}

TEST(Lfu, CountsReadsAndNotTheSaveThatFollowsThem) {
  Store store(
      {{.kind = Tier::ssd, .capacity_bytes = 100, .eviction = EvictionKind::lfu, .bytes_per_token = 1}});
  const auto put = [&](Key key, int64_t tokens) {
    for (const Move& move : store.put(key, tokens, 0)) store.done(move);
  };
  put(1, 20);
  put(1, 30);
  put(1, 40);  // grown twice, never read
  put(2, 40);
  store.touch(2, 0);  // read once
  put(3, 40);
  EXPECT_FALSE(store.find(1));
  EXPECT_TRUE(store.find(2));
}

// ---- s3_fifo ----

// Algorithm 1 of the paper with the tenth compared at every step; queues are lists, oldest first.
Outcome s3_fifo_by_hand(const Trace& trace, std::size_t places) {
  std::deque<Key> small, main;
  std::deque<std::optional<Key>> ghost;  // the last that left the small queue, less those that came back
  std::map<Key, int> uses;
  const auto holds = [](const auto& queue, Key key) {
    return std::find(queue.begin(), queue.end(), key) != queue.end();
  };
  const auto evict = [&] {
    for (;;) {
      if (!small.empty() && (main.empty() || 10 * small.size() >= places)) {
        const Key key = small.front();
        small.pop_front();
        if (uses[key] <= 1) {
          ghost.emplace_back(key);
          while (ghost.size() > places * 9 / 10) ghost.pop_front();
          return;
        }
        uses[key] = 0;
        main.push_back(key);
      } else {
        const Key key = main.front();
        main.pop_front();
        if (uses[key] == 0) return;
        --uses[key];
        main.push_back(key);
      }
    }
  };
  Outcome outcome;
  for (Key key : trace) {
    outcome.hits.push_back(holds(small, key) || holds(main, key));
    if (outcome.hits.back()) {
      uses[key] = std::min(uses[key] + 1, 3);
      continue;
    }
    if (small.size() + main.size() == places) evict();
    const bool known = holds(ghost, key);
    if (known) *std::find(ghost.begin(), ghost.end(), key) = std::nullopt;
    (known ? main : small).push_back(key);
    uses[key] = 0;
  }
  outcome.stored.insert(small.begin(), small.end());
  outcome.stored.insert(main.begin(), main.end());
  return outcome;
}

TEST(S3Fifo, LetsAScanPassThroughItsSmallQueue) {
  // Ten places. 1 is used three times in the small queue; the tenth newcomer after it finds the cache full:
  // the oldest, 1, moves to the main queue and 2 leaves. From then on the scan evicts itself.
  Trace trace = {1, 1, 1};
  for (Key key = 2; key <= 30; ++key) trace.push_back(key);
  trace.push_back(1);
  const Outcome outcome = run(EvictionKind::s3_fifo, trace, 10);
  EXPECT_TRUE(outcome.hits.back());
  EXPECT_EQ(outcome.stored, (std::set<Key>{1, 22, 23, 24, 25, 26, 27, 28, 29, 30}));
  EXPECT_FALSE(run(EvictionKind::lru, trace, 10).hits.back());
  EXPECT_FALSE(run(EvictionKind::fifo, trace, 10).hits.back());
}

TEST(S3Fifo, TakesWhatItRemembersIntoTheMainQueue) {
  // 11 evicts 1 into the ghost; 1 comes back (evicting 2) into the main queue and outlives 20 newcomers,
  // which evict each other.
  Trace trace;
  for (Key key = 1; key <= 11; ++key) trace.push_back(key);
  trace.push_back(1);
  for (Key key = 40; key < 60; ++key) trace.push_back(key);
  trace.push_back(1);
  EXPECT_TRUE(run(EvictionKind::s3_fifo, trace, 10).hits.back());
}

TEST(S3Fifo, AgreesWithItsAlgorithmOnLists) {
  for (double alpha : kAlphas) {
    const Trace trace = random_trace(4, 4000, 80, alpha);
    for (std::size_t places : {1U, 5U, 10U, 25U, 50U}) {
      const Outcome expected = s3_fifo_by_hand(trace, places);
      const Outcome outcome = run(EvictionKind::s3_fifo, trace, static_cast<int64_t>(places));
      EXPECT_EQ(outcome.misses(), expected.misses()) << places << " places, alpha " << alpha;
      EXPECT_EQ(outcome, expected) << places << " places, alpha " << alpha;
    }
  }
}

// ---- next_use ----

// The fewest misses of any cache that takes in all it misses: over all sets that it may hold.
int64_t fewest_misses(const Trace& trace, std::size_t places) {
  std::map<std::set<Key>, int64_t> misses = {{{}, 0}};
  for (Key key : trace) {
    std::map<std::set<Key>, int64_t> next;
    const auto reach = [&next](const std::set<Key>& stored, int64_t count) {
      const auto [at, is_new] = next.try_emplace(stored, count);
      at->second = std::min(at->second, count);
    };
    for (const auto& [stored, count] : misses) {
      if (stored.contains(key)) {
        reach(stored, count);
        continue;
      }
      std::set<Key> with = stored;
      with.insert(key);
      if (with.size() <= places) reach(with, count + 1);
      for (Key victim : stored) {
        if (with.size() <= places) break;
        std::set<Key> without = with;
        without.erase(victim);
        reach(without, count + 1);
      }
    }
    misses = std::move(next);
  }
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const auto& [stored, count] : misses) fewest = std::min(fewest, count);
  return fewest;
}

Outcome belady(const Trace& trace, int64_t places) {
  const std::vector<Order> next = next_uses(trace);
  return run(EvictionKind::next_use, trace, places,
             [&](Store& store, std::size_t step) { store.expect(trace[step], next[step]); });
}

TEST(NextUse, FedFromTheWorkloadMissesAsLittleAsAnyCacheCan) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Trace trace = random_trace(100 + seed, 60, 8, kAlphas[seed % 3]);
    for (std::size_t places : {1U, 2U, 3U, 4U}) {
      EXPECT_EQ(belady(trace, static_cast<int64_t>(places)).misses(), fewest_misses(trace, places));
    }
  }
}

TEST(NextUse, FedFromTheWorkloadAgreesWithAScanOfTheFuture) {
  for (double alpha : kAlphas) {
    const Trace trace = random_trace(5, 2000, 50, alpha);
    const auto rank = [&](const Scan& s, Key key, std::size_t now) {
      const auto next = std::find(trace.begin() + static_cast<std::ptrdiff_t>(now) + 1, trace.end(), key);
      return std::tuple(next == trace.end() ? -kNever : -static_cast<double>(next - trace.begin()),
                        s.last.at(key));
    };
    for (int places : {1, 5, 20}) EXPECT_EQ(belady(trace, places), scan(trace, places, rank));
  }
}

TEST(NextUse, OfNothingIsLru) {
  const Trace trace = random_trace(6, 2000, 50, 0.8);
  EXPECT_EQ(run(EvictionKind::next_use, trace, 20), run(EvictionKind::lru, trace, 20));
}

TEST(NextUse, FedFromAWindowEvictsWhatNobodyWaitsForAndThenTheTailOfTheQueue) {
  // The window is the next 10 uses; every step tells of all keys what it shows.
  constexpr std::size_t kWindow = 10;
  const Trace trace = random_trace(7, 1500, 40, 0.5);
  const auto position = [&](Key key, std::size_t now) {
    for (std::size_t i = now + 1; i <= now + kWindow && i < trace.size(); ++i) {
      if (trace[i] == key) return static_cast<Order>(i);
    }
    return kNever;
  };
  const auto rank = [&](const Scan& s, Key key, std::size_t now) {
    return std::tuple(-position(key, now), s.last.at(key));
  };
  const auto tell = [&](Store& store, std::size_t now) {
    for (Key key = 0; key < 40; ++key) store.expect(key, position(key, now));
  };
  for (int places : {2, 8, 20}) {
    EXPECT_EQ(run(EvictionKind::next_use, trace, places, tell), scan(trace, places, rank));
  }
}

// ---- score ----

TEST(Score, AgreesWithAScanThatRefusesNewcomersOfLowerScore) {
  for (double alpha : kAlphas) {
    const Trace trace = random_trace(8, 3000, 50, alpha);
    const RandomStream random(8, "scores");
    std::vector<std::map<Key, double>> scores(trace.size());
    for (std::size_t i = 0; i < trace.size(); ++i) {
      if (i > 0) scores[i] = scores[i - 1];
      scores[i][trace[i]] = std::floor(10 * random.uniform(i));
    }
    const auto rank = [&](const Scan& s, Key key, std::size_t now) {
      const auto last = s.last.find(key);
      return std::tuple(scores[now].at(key), last == s.last.end() ? -1.0 : last->second);
    };
    const auto tell = [&](Store& store, std::size_t now) {
      store.weigh(trace[now], scores[now][trace[now]]);
    };
    for (int places : {1, 5, 20}) {
      EXPECT_EQ(run(EvictionKind::score, trace, places, tell), scan(trace, places, rank, true));
    }
  }
}

TEST(Score, KeepsTheChunkThatSavesMoreTransfers) {
  // HyperInfer Fig. 15: 15 requests need the one important key of chunk 1 (50 %), 10 requests both keys of
  // chunk 2 (100 %); one chunk fits into the nearer tier. By frequency chunk 1 stays there and 10 x 2 = 20
  // keys travel; by score 1.5 x 0.5 = 0.75 < 1 x 1 = 1.0 chunk 2 stays and 15 x 1 = 15 travel.
  const auto transfers = [](EvictionKind kind) {
    Store store({{.kind = Tier::dram, .capacity_bytes = 2, .eviction = kind, .bytes_per_token = 1},
                 {.kind = Tier::ssd, .capacity_bytes = 100, .bytes_per_token = 1}});
    const std::map<Key, double> scores = {{1, 1.5 * 0.5}, {2, 1.0 * 1.0}};
    const auto warm = [&](Key key, int uses) {
      for (const Move& move : store.put(key, 2, 0)) store.done(move);
      for (int i = 0; i < uses; ++i) store.touch(key, 0);
    };
    const Key frequent = 1;
    store.weigh(1, scores.at(1));
    store.weigh(2, scores.at(2));
    if (kind == EvictionKind::lfu) {
      warm(2, 10);
      warm(frequent, 15);  // displaces chunk 2
    } else {
      warm(frequent, 15);
      warm(2, 10);
    }
    int64_t keys = 0;
    for (int i = 0; i < 25; ++i) {
      const Key key = i % 5 < 3 ? 1 : 2;  // 15 and 10
      if (store.find(key)->tier == Tier::ssd) keys += key == 1 ? 1 : 2;
      store.touch(key, 0);
      if (kind == EvictionKind::score) store.promote(key, 0);
    }
    return keys;
  };
  EXPECT_EQ(transfers(EvictionKind::lfu), 20);
  EXPECT_EQ(transfers(EvictionKind::score), 15);
}

}  // namespace
}  // namespace kvcap::eviction_test
