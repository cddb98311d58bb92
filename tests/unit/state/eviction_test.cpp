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

// ---- arc ----

// The algorithm on lists, oldest first: t1 of keys used once, t2 of keys used again, b1 and b2 of what left
// them.
class ArcByHand {
 public:
  explicit ArcByHand(std::size_t places) : places_(places) {}

  bool use(Key key) {
    const bool hit = holds(t1_, key) || holds(t2_, key);
    if (hit) {
      remove(t1_, key);
      remove(t2_, key);
      t2_.push_back(key);
      return true;
    }
    const auto ratio = [](const std::deque<Key>& a, const std::deque<Key>& b) {
      return std::max(1.0, static_cast<double>(a.size()) / static_cast<double>(b.size()));
    };
    if (holds(b1_, key))
      target_ = std::min(target_ + ratio(b2_, b1_), static_cast<double>(t1_.size() + t2_.size()));
    if (holds(b2_, key)) target_ = std::max(target_ - ratio(b1_, b2_), 0.0);
    for (std::deque<Key>* left : {&b1_, &b2_}) {
      if (!holds(*left, key)) continue;
      remove(*left, key);
      left->push_back(key);
    }
    if (t1_.size() + t2_.size() == places_) evict();
    remove(b1_, key);
    remove(b2_, key);
    t1_.push_back(key);
    return false;
  }
  std::set<Key> stored() const {
    std::set<Key> keys(t1_.begin(), t1_.end());
    keys.insert(t2_.begin(), t2_.end());
    return keys;
  }

 private:
  static bool holds(const std::deque<Key>& list, Key key) {
    return std::find(list.begin(), list.end(), key) != list.end();
  }
  static void remove(std::deque<Key>& list, Key key) { std::erase(list, key); }
  void evict() {
    const bool from_t1 = t2_.empty() || static_cast<double>(t1_.size()) >= std::floor(target_);
    std::deque<Key>& from = from_t1 && !t1_.empty() ? t1_ : t2_;
    std::deque<Key>& to = &from == &t1_ ? b1_ : b2_;
    to.push_back(from.front());
    from.pop_front();
    for (std::deque<Key>* left : {&b1_, &b2_}) {
      while (left->size() > places_) left->pop_front();
    }
  }

  std::size_t places_;
  double target_ = 0;
  std::deque<Key> t1_, t2_, b1_, b2_;
};

TEST(Arc, LetsAScanPassByWhatWasUsedAgain) {
  // Three places. 1 and 2 are used twice, so that the newcomers evict each other.
  const Trace trace = {1, 1, 2, 2, 3, 4, 5, 6, 7, 1, 2};
  const Outcome outcome = run(EvictionKind::arc, trace, 3);
  EXPECT_TRUE(outcome.hits[9] && outcome.hits[10]);
  EXPECT_EQ(outcome.stored, (std::set<Key>{1, 2, 7}));
  EXPECT_FALSE(run(EvictionKind::lru, trace, 3).hits[9]);
}

TEST(Arc, GivesMoreRoomToTheHalfWhoseKeysComeBack) {
  // Two places. 2 is evicted by 3 and comes back: the target of those used once rises from 0 to 1, 3 leaves,
  // since one is used once. 3 comes back: the target is 2, so that 1, used again, leaves at last.
  const Trace trace = {1, 1, 2, 3, 2, 3, 2};
  const Outcome outcome = run(EvictionKind::arc, trace, 2);
  EXPECT_EQ(outcome.hits, (std::vector<bool>{false, true, false, false, false, false, true}));
  EXPECT_EQ(outcome.stored, (std::set<Key>{2, 3}));
}

TEST(Arc, AgreesWithItsAlgorithmOnLists) {
  for (double alpha : kAlphas) {
    // Keys drift, so that both halves have something come back.
    Trace trace = random_trace(5, 6000, 60, alpha);
    for (std::size_t i = 0; i < trace.size(); ++i) trace[i] += i / 500 * 15;
    for (std::size_t places : {1U, 2U, 5U, 20U, 45U}) {
      ArcByHand arc(places);
      Outcome expected;
      for (Key key : trace) expected.hits.push_back(arc.use(key));
      expected.stored = arc.stored();
      EXPECT_EQ(run(EvictionKind::arc, trace, static_cast<int64_t>(places)), expected)
          << places << " places, alpha " << alpha;
    }
  }
}

TEST(Arc, CountsWhatIsAboutToLeaveAsGone) {
  // A newcomer needs two places. Target 0: both of those used once leave, and not 3, used again.
  const std::unique_ptr<Eviction> eviction = make_arc();
  for (Slot slot = 0; slot < 4; ++slot) eviction->enter(slot, 100 + slot);
  eviction->touch(3);
  eviction->awaits(7);  // known to nobody: the target stays
  std::vector<Slot> victims;
  for (int i = 0; i < 2; ++i) {
    victims.push_back(eviction->victim());
    eviction->hold(victims.back());
    eviction->chosen(victims.back());
  }
  EXPECT_EQ(victims, (std::vector<Slot>{0, 1}));
  for (Slot victim : victims) eviction->leave(victim, true);
  // 100 and 101 come back, in turn: the target is 2, of 1 + 1 keys, and one of the two is chosen already.
  eviction->awaits(100);
  eviction->awaits(101);
  eviction->enter(0, 100);
  EXPECT_EQ(eviction->victim(), 2U);
  eviction->hold(2);
  eviction->chosen(2);
  EXPECT_EQ(eviction->victim(), 3U) << "one is left that was used once, fewer than the target";
  eviction->release(2);
  EXPECT_EQ(eviction->victim(), 2U) << "the choice was taken back";
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
