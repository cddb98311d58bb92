// The store under many small items, in nanoseconds an item:
//
//   store_mix/<eviction>/N     turns of 100 blocks of 16 tokens over a working set of 2 N blocks, of
//                              which N fit: find and touch all, put those that are missing, end the moves
//   store_two_tiers/N          the same with N / 4 of the blocks in DRAM and the rest on SSD
//   store_pinned/N             one block in and one out of a tier in which N others are pinned
//   key_map, standard_map/N    find, insert and erase, against std::unordered_map
#include <benchmark/benchmark.h>

#include <unordered_map>

#include "base/key_map.h"
#include "state/store.h"

namespace kvcap {
namespace {

constexpr int64_t kBlocksPerTurn = 100;
constexpr int64_t kBlockTokens = 16;

uint64_t scrambled(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// Prompts: runs of blocks of one of many documents, the nearer to the first the more popular.
class Turns {
 public:
  explicit Turns(int64_t blocks) : documents_(blocks / kBlocksPerTurn) {}
  void next(std::vector<Key>& keys) {
    const double u = static_cast<double>(scrambled(++turn_) >> 11) * 0x1p-53;
    const auto document = static_cast<uint64_t>(u * u * static_cast<double>(documents_));
    keys.clear();
    for (int64_t i = 0; i < kBlocksPerTurn; ++i) {
      keys.push_back(scrambled(document * kBlocksPerTurn + static_cast<uint64_t>(i)));
    }
  }

 private:
  int64_t documents_;
  uint64_t turn_ = 0;
};

struct Turner {
  Store& store;
  Turns turns;
  EvictionKind eviction;
  std::vector<Key> keys = {};
  std::vector<Item> items = {};
  int64_t hits = 0, turns_done = 0;

  void turn() {
    const auto now = static_cast<Order>(++turns_done);
    turns.next(keys);
    items.clear();
    for (Key key : keys) {
      const auto drawn = static_cast<double>(scrambled(key + static_cast<uint64_t>(turns_done)) % 1000);
      if (eviction == EvictionKind::next_use) store.expect(key, drawn < 300 ? kNever : now + drawn);
      if (eviction == EvictionKind::score) store.weigh(key, drawn);
      if (store.find(key)) {
        store.touch(key, now);
        ++hits;
      } else {
        items.push_back({key, kBlockTokens});
      }
    }
    for (const Move& move : store.put(items, now)) store.done(move);
  }
};

StoreTier tier(Tier kind, int64_t blocks, EvictionKind eviction) {
  return {.kind = kind,
          .capacity_bytes = static_cast<double>(blocks * kBlockTokens),
          .eviction = eviction,
          .bytes_per_token = 1};
}

void run_turns(benchmark::State& state, Store& store, EvictionKind eviction) {
  const int64_t blocks = state.range(0);
  Turner turner{store, Turns(2 * blocks), eviction};
  for (int64_t i = 0; i < 6 * blocks / kBlocksPerTurn; ++i) turner.turn();
  turner.hits = turner.turns_done = 0;
  for (auto _ : state) turner.turn();
  const int64_t items = turner.turns_done * kBlocksPerTurn;
  state.SetItemsProcessed(items);
  state.counters["hit_rate"] = static_cast<double>(turner.hits) / static_cast<double>(items);
  store.check();
}

void store_mix(benchmark::State& state, EvictionKind eviction) {
  Store store({tier(Tier::ssd, state.range(0), eviction)});
  run_turns(state, store, eviction);
}

void store_two_tiers(benchmark::State& state) {
  const int64_t blocks = state.range(0);
  Store store({tier(Tier::dram, blocks / 4, EvictionKind::lru),
               tier(Tier::ssd, blocks - blocks / 4, EvictionKind::lru)});
  run_turns(state, store, EvictionKind::lru);
}

void store_pinned(benchmark::State& state) {
  const int64_t pinned = state.range(0);
  Store store({tier(Tier::ssd, pinned + 1, EvictionKind::lru)});
  const auto put = [&store](Key key) {
    for (const Move& move : store.put(key, kBlockTokens, 0)) store.done(move);
  };
  for (int64_t i = 0; i < pinned; ++i) {
    put(static_cast<Key>(i));
    store.pin(static_cast<Key>(i));
  }
  auto key = static_cast<Key>(pinned);
  for (auto _ : state) put(++key);
}

// `Map` finds, inserts and erases; half of the finds miss.
template <class Find, class Insert, class Erase>
void use_map(benchmark::State& state, const Find& find, const Insert& insert, const Erase& erase) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  for (uint64_t i = 0; i < keys; ++i) insert(scrambled(i), static_cast<Slot>(i));
  uint64_t step = 0;
  uint64_t first = 0;
  uint64_t found = 0;
  for (auto _ : state) {
    for (int i = 0; i < 8; ++i) found += find(scrambled(first + scrambled(++step) % (2 * keys)));
    erase(scrambled(first));
    insert(scrambled(first + keys), static_cast<Slot>(step));
    ++first;
  }
  benchmark::DoNotOptimize(found);
  state.SetItemsProcessed(state.iterations() * 10);
}

void key_map(benchmark::State& state) {
  KeyMap<Slot, kNoSlot> map;
  use_map(
      state, [&map](Key key) { return map.find(key) != kNoSlot; },
      [&map](Key key, Slot slot) { map.set(key, slot); }, [&map](Key key) { map.erase(key); });
}

void standard_map(benchmark::State& state) {
  std::unordered_map<Key, Slot> map;
  use_map(
      state, [&map](Key key) { return map.find(key) != map.end(); },
      [&map](Key key, Slot slot) { map[key] = slot; }, [&map](Key key) { map.erase(key); });
}

constexpr int64_t kFew = 10'000, kMany = 1'000'000;

BENCHMARK_CAPTURE(store_mix, lru, EvictionKind::lru)->Arg(kFew)->Arg(kMany);
BENCHMARK_CAPTURE(store_mix, lfu, EvictionKind::lfu)->Arg(kFew)->Arg(kMany);
BENCHMARK_CAPTURE(store_mix, fifo, EvictionKind::fifo)->Arg(kFew)->Arg(kMany);
BENCHMARK_CAPTURE(store_mix, s3_fifo, EvictionKind::s3_fifo)->Arg(kFew)->Arg(kMany);
BENCHMARK_CAPTURE(store_mix, arc, EvictionKind::arc)->Arg(kFew)->Arg(kMany);
BENCHMARK_CAPTURE(store_mix, next_use, EvictionKind::next_use)->Arg(kFew)->Arg(kMany);
BENCHMARK_CAPTURE(store_mix, score, EvictionKind::score)->Arg(kFew)->Arg(kMany);
BENCHMARK(store_two_tiers)->Arg(kFew)->Arg(kMany);
BENCHMARK(store_pinned)->Arg(10)->Arg(100'000);
BENCHMARK(key_map)->Arg(kFew)->Arg(kMany);
BENCHMARK(standard_map)->Arg(kFew)->Arg(kMany);

}  // namespace
}  // namespace kvcap
