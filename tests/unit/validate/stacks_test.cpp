// Presets of engines and production stacks, and the options that they brought: each against a sum that stands
// beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "base/key_map.h"
#include "base/random.h"
#include "engine/versions/engines.h"
#include "laws/machines.h"
#include "policy/table.h"
#include "run/machine.h"
#include "scenario/load.h"
#include "state/store.h"
#include "unit/scenario_samples.h"

namespace kvcap::stacks_test {
namespace {

Scenario parsed(const std::string& members, const std::vector<std::string>& overrides = {}) {
  return parse_scenario(sample_scenario(members), "chat.json", overrides);
}

TEST(Engines, SetDefaultsThatAScenarioMayReplaceInAnyOrderOfItsKeys) {
  const Scenario sglang = parsed(R"("serving": {"max_num_batched_tokens": 4096, "engine": "sglang"})");
  EXPECT_EQ(sglang.serving.schedule, StepOrder::prefill_first);
  EXPECT_EQ(sglang.serving.block_size, 1);
  EXPECT_EQ(sglang.serving.max_num_batched_tokens, 4096);
  EXPECT_EQ(parsed(R"("serving": {"engine": "trtllm"})").serving.admission, Admission::reserve_output);
  EXPECT_EQ(parsed("", {"serving.engine=trtllm", "serving.block_size=64"}).serving.block_size, 64);
  const Scenario vllm = parsed(R"("serving": {"engine": "vllm"})");
  EXPECT_EQ(vllm.serving.block_size, ServingOptions{}.block_size);
  EXPECT_EQ(vllm.serving.admission, Admission::full_prompt);
}

TEST(Engines, ReadBackWhatTheyWrite) {
  const Scenario first = parsed(R"("serving": {"engine": "sglang", "block_size": 64})");
  const Scenario second = parse_scenario(first.resolved_json, "again.json", {});
  EXPECT_EQ(second.resolved_json, first.resolved_json);
}

TEST(Stacks, KeepAnotherFormWithOneKey) {
  PolicyOptions options{.name = "lmcache", .keep = Keep::hidden};
  options = with_preset(options);
  EXPECT_EQ(options.restore, Restore::project);
  EXPECT_EQ(options.save_at, SaveAt::step);
  EXPECT_EQ(options.chunk_tokens, 256);
}

TEST(Stacks, SpellWritePoliciesAsWhenStateIsSaved) {
  const auto of = [](WritePolicy policy) { return with_preset({.name = "hicache", .write_policy = policy}); };
  EXPECT_EQ(of(WritePolicy::write_through).save_at, SaveAt::step);
  EXPECT_EQ(of(WritePolicy::write_through).store_after_hits, 0);
  EXPECT_EQ(of(WritePolicy::write_through_selective).store_after_hits, 1);
  EXPECT_EQ(of(WritePolicy::write_back).save_at, SaveAt::eviction);
  EXPECT_EQ(with_preset({.name = "hicache"}).save_at, SaveAt::step);
}

// What the user says of writes goes before when the stack saves, and layers by themselves are no blocks of
// all.
TEST(Stacks, TakeWhatUsersSayBeforeWhatTheirNamesStandFor) {
  EXPECT_EQ(with_preset({.name = "vllm_offload", .write_policy = WritePolicy::write_back}).save_at,
            SaveAt::eviction);
  EXPECT_EQ(with_preset({.name = "lmcache", .load = LoadMode::layerwise}).preload, Preload::layerwise);
  EXPECT_FALSE(with_preset({.name = "lmcache", .load = LoadMode::layerwise}).block_layout);
  EXPECT_EQ(with_preset({.name = "hicache", .load = LoadMode::parked}).preload.value_or(Preload::none),
            Preload::none);
  EXPECT_NO_THROW(parsed(R"("policy": {"name": "lmcache", "load": "layerwise"})"));
}

// 5 GiB for each of two workers, but no more than there is.
TEST(Stacks, HaveTiersOfTheirOwnUnlessTheScenarioListsSome) {
  const Scenario two =
      parsed(R"("policy": "lmcache")", {"hardware.dram.capacity_bytes=20e9", "hardware.gpu.count=2",
                                        "hardware.nvlink={\"bandwidth_bytes_per_s\": 3e11, \"latency_s\": 0}",
                                        "serving.tensor_parallel_size=2"});
  ASSERT_EQ(two.policy.tiers->size(), 1U);
  EXPECT_EQ(two.policy.tiers->front().kind, Tier::dram);
  EXPECT_EQ(two.policy.tiers->front().capacity_bytes, 2 * 5 * 1073741824.0);
  const Scenario little = parsed(R"("policy": "lmcache")", {"hardware.dram.capacity_bytes=3e9"});
  EXPECT_EQ(little.policy.tiers->front().capacity_bytes, 3e9);
  const Scenario listed = parsed(R"("policy": {"name": "lmcache", "tiers": [{"kind": "ssd"}]})");
  EXPECT_EQ(listed.policy.tiers->front().kind, Tier::ssd);
}

// 10,000 tokens of KV, times 2, times the bytes of a token.
TEST(Stacks, GiveHicacheTwiceWhatTheGpuHas) {
  Scenario scenario = laws::scenario("hicache");
  scenario.policy.tiers = {{.kind = Tier::dram, .capacity_over_gpu = 2}};
  scenario.hardware.dram->capacity_bytes = 1e12;
  scenario.serving.kv_capacity_tokens = 10000;
  const Machine machine(scenario, 1000, 1000);
  EXPECT_DOUBLE_EQ(machine.tiers().front().capacity_bytes, 2e4 * scenario.model.kv_bytes_per_token());
  scenario.hardware.dram->capacity_bytes = 1e9;
  EXPECT_THROW(Machine(scenario, 1000, 1000), InputError);
}

TEST(Stacks, TakeMooncakeStoreAsAKindOfRemoteTier) {
  const Scenario scenario = parsed(
      R"("policy": {"name": "lmcache", "tiers": [{"kind": "mooncake_store", "capacity_bytes": 1e9, "lease_s": 5}]})",
      {"hardware.remote={\"capacity_bytes\": 1e12, \"bandwidth_bytes_per_s\": 1e10}"});
  const TierOptions& tier = scenario.policy.tiers->front();
  EXPECT_EQ(tier.kind, Tier::remote);
  EXPECT_EQ(tier.eviction, EvictionKind::sharded_lru);
  EXPECT_EQ(tier.evict_at, 0.9);
  EXPECT_EQ(tier.evict_share, 0.05);
  EXPECT_EQ(tier.lease_s, 5);
}

// ---- tiers ----

StoreTier of_tokens(int64_t tokens, Tier kind = Tier::dram) {
  return {.kind = kind, .capacity_bytes = static_cast<double>(tokens), .bytes_per_token = 1};
}
void put_all(Store& store, Key key, int64_t tokens, Order now) {
  for (const Move& move : store.put(key, tokens, now)) store.done(move);
}

// 90 of 100 tokens may lie there; the 91st makes 5 leave, which is one context of 10.
TEST(StoreTiers, EvictInBatchesBeyondTheirWatermark) {
  StoreTier tier = of_tokens(100);
  tier.evict_at = 0.9;
  tier.evict_share = 0.05;
  Store store({tier}, {});
  for (Key key = 1; key <= 9; ++key) put_all(store, key, 10, static_cast<Order>(key));
  EXPECT_EQ(store.occupied_bytes(Tier::dram), 90);
  put_all(store, 10, 1, 10);
  EXPECT_EQ(store.occupied_bytes(Tier::dram), 81);
  EXPECT_FALSE(store.find(1));
  EXPECT_TRUE(store.find(2));
}

TEST(StoreTiers, KeepWhatWasReadWhileItsLeaseLasts) {
  StoreTier tier = of_tokens(20);
  tier.lease_s = 10;
  Store store({tier}, {});
  put_all(store, 1, 10, 0);
  put_all(store, 2, 10, 1);
  store.touch(1, 2);
  store.touch(2, 2);
  put_all(store, 3, 10, 11.9);  // both were read less than 10 s ago
  EXPECT_FALSE(store.find(3));
  put_all(store, 3, 10, 12);
  EXPECT_TRUE(store.find(3));
  EXPECT_FALSE(store.find(1));
}

void put_shared(Store& store, Key key, int64_t tokens, Order now) {
  const Item item{key, tokens, true};
  for (const Move& move : store.put(std::span(&item, 1), now)) store.done(move);
}

// Of three contexts the oldest is shared: the others leave first, it once nobody else is left.
TEST(StoreTiers, KeepSoftPinnedContextsWhileOthersCanLeave) {
  StoreTier tier = of_tokens(30);
  tier.soft_pin_s = 100;
  Store store({tier}, {});
  put_shared(store, 1, 10, 0);
  put_all(store, 2, 10, 1);
  put_all(store, 3, 10, 2);
  put_all(store, 4, 20, 3);
  EXPECT_TRUE(store.find(1));
  EXPECT_FALSE(store.find(2));
  EXPECT_FALSE(store.find(3));
  put_all(store, 5, 30, 4);
  EXPECT_FALSE(store.find(1));
  EXPECT_TRUE(store.find(5));
}

// 100 s after its last use, not after it came.
TEST(StoreTiers, ForgetASoftPinSoLongAfterTheLastUse) {
  StoreTier tier = of_tokens(20);
  tier.soft_pin_s = 100;
  Store store({tier}, {});
  put_shared(store, 1, 10, 0);
  store.touch(1, 50);
  put_all(store, 2, 10, 60);
  put_all(store, 3, 10, 149);
  EXPECT_TRUE(store.find(1));
  EXPECT_FALSE(store.find(2));
  put_all(store, 4, 10, 150);
  EXPECT_FALSE(store.find(1));
  EXPECT_TRUE(store.find(3));
}

// Beside a literal list: what was read within the lease stays; of all others who are not pinned the least
// recently used leaves, else of all others.
TEST(StoreTiers, ChooseTheVictimsOfALiteralListAmongLeasesAndSoftPins) {
  struct Known {
    bool shared = false;
    Order used = 0, read = -1e9;
  };
  constexpr std::size_t kPlaces = 12;
  constexpr double kPin_s = 40;
  int64_t pinned_victims = 0, refused = 0;
  for (const double lease_s : {0.0, 6.0, 30.0}) {
    const RandomStream random(3, "soft pins");
    StoreTier tier = of_tokens(kPlaces);
    tier.soft_pin_s = kPin_s;
    tier.lease_s = lease_s;
    Store store({tier}, {});
    std::map<Key, Known> here;
    for (uint64_t step = 0; step < 10000; ++step) {
      const auto now = static_cast<Order>(step);
      const auto key = static_cast<Key>(30 * random.uniform(step, 0));
      const bool shared = key < 20;
      const auto pinned = [&](const Known& one) { return one.shared && one.used + kPin_s > now; };
      const auto leased = [&](const Known& one) { return one.read + lease_s > now; };
      if (here.contains(key)) {
        store.touch(key, now);
        here[key].used = here[key].read = now;
      } else {
        bool has_room = here.size() < kPlaces;
        if (!has_room) {
          auto victim = here.end();
          for (auto one = here.begin(); one != here.end(); ++one) {
            if (leased(one->second)) continue;
            const bool sooner = victim == here.end() || (pinned(one->second) != pinned(victim->second)
                                                             ? pinned(victim->second)
                                                             : one->second.used < victim->second.used);
            if (sooner) victim = one;
          }
          has_room = victim != here.end();
          if (has_room) {
            pinned_victims += pinned(victim->second);
            here.erase(victim);
          }
        }
        refused += !has_room;
        if (has_room) here[key] = {.shared = shared, .used = now};
        shared ? put_shared(store, key, 1, now) : put_all(store, key, 1, now);
      }
      for (Key one = 0; one < 30; ++one) {
        ASSERT_EQ(store.find(one).has_value(), here.contains(one)) << "step " << step << ", context " << one;
      }
      store.check();
    }
  }
  EXPECT_GT(pinned_victims, 0);
  EXPECT_GT(refused, 0);
}

// A document that one chat read stays in DRAM behind five later chats, and is found by one more.
TEST(Stacks, KeepSoftPinnedDocumentsBehindChats) {
  Scenario scenario = laws::scenario("kv_offload");
  scenario.serving.prefix_caching = false;
  Workload workload;
  workload.absolute_times = true;
  workload.piece_begin = {0};
  const auto ask = [&](Key document, double at_s) {
    workload.sessions.push_back(
        {.first_turn = static_cast<uint32_t>(workload.turns.size()), .turn_count = 2});
    for (const double time_s : {at_s, at_s + 1}) {
      workload.turns.push_back({time_s == at_s ? 200U : 100U, 10, time_s});
      if (document > 0 && time_s == at_s) workload.pieces.push_back({document, 100});
      workload.piece_begin.push_back(workload.pieces.size());
    }
  };
  ask(1, 0);
  for (int chat = 1; chat <= 5; ++chat) ask(0, 100.0 * chat);
  ask(1, 1000);
  const double bytes = scenario.model.kv_bytes_per_token();
  const auto hits_of = [&](double soft_pin_s) {
    scenario.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 900 * bytes, .soft_pin_s = soft_pin_s}};
    const RunResult run = laws::run_all({{scenario, workload}}).front();
    return run.turns[run.turns.size() - 2].hit_tokens;
  };
  EXPECT_EQ(hits_of(0), 0);
  EXPECT_EQ(hits_of(100), 0);
  EXPECT_EQ(hits_of(1800), 100);
}

// 20 contexts of 10 tokens through DRAM for 10 and an SSD for 5 of them: each is written once to both,
// nothing again when DRAM evicts it, and what the SSD has is in DRAM as well.
TEST(StoreTiers, WriteNothingWhenTheyEvictWhatWasWrittenThrough) {
  Store store({of_tokens(100), of_tokens(50, Tier::ssd)}, {.inclusive = true, .write = WriteMode::through});
  for (Key key = 1; key <= 20; ++key) put_all(store, key, 10, static_cast<Order>(key));
  EXPECT_EQ(store.came_bytes(Tier::ssd), 200);
  int64_t found = 0;
  for (Key key = 1; key <= 20; ++key) found += store.find(key).has_value();
  EXPECT_EQ(found, 10);
}

// One context was read, the other only put: it leaves, although the first is older.
TEST(StoreTiers, PassOverWhatHasALease) {
  for (const EvictionKind eviction : {EvictionKind::lru, EvictionKind::sharded_lru}) {
    StoreTier tier = of_tokens(20);
    tier.eviction = eviction;
    tier.lease_s = 10;
    Store store({tier}, {});
    put_all(store, 1, 10, 0);
    store.touch(1, 1);
    put_all(store, 2, 10, 2);
    put_all(store, 3, 10, 3);
    EXPECT_TRUE(store.find(1));
    EXPECT_FALSE(store.find(2));
    EXPECT_TRUE(store.find(3));
  }
}

// A put that renews: 100 s count from 90 on.
TEST(StoreTiers, BeginASoftPinAnewWithEveryPut) {
  StoreTier tier = of_tokens(20);
  tier.soft_pin_s = 100;
  Store store({tier}, {});
  put_shared(store, 1, 10, 0);
  put_shared(store, 1, 10, 90);
  put_all(store, 2, 10, 100);
  put_all(store, 3, 10, 189);
  EXPECT_TRUE(store.find(1));
  EXPECT_FALSE(store.find(2));
}

// 64 pages leave for one context of 64 tokens: no two of one shard while every shard has some.
TEST(StoreTiers, TakeTheVictimsOfOneContextFromShardsInTurn) {
  StoreTier tier = of_tokens(20000);
  tier.eviction = EvictionKind::sharded_lru;
  Store store({tier}, {});
  for (Key key = 1; key <= 20000; ++key) put_all(store, key, 1, 0);
  put_all(store, 50000, 64, 1);
  std::set<Key> shards;
  int64_t victims = 0;
  for (Key key = 1; key <= 20000; ++key) {
    if (store.find(key)) continue;
    ++victims;
    shards.insert(mixed(key) % 1024);
  }
  EXPECT_EQ(victims, 64);
  EXPECT_EQ(shards.size(), 64U);
}

// A turn that waits for its prefetch, and is preempted, has used its context once.
TEST(StoreTiers, CountOneUseOfATurn) {
  StoreTier ssd = of_tokens(100, Tier::ssd);
  ssd.after_uses = 3;
  Store store({of_tokens(100), ssd}, {.inclusive = true, .write = WriteMode::through});
  put_all(store, 1, 10, 0);
  store.touch(1, 1, true);
  store.touch(1, 1);
  store.touch(1, 2, true);
  put_all(store, 1, 12, 3);
  EXPECT_EQ(store.occupied_bytes(Tier::ssd), 0);
  store.touch(1, 4);
  put_all(store, 1, 14, 5);
  EXPECT_EQ(store.occupied_bytes(Tier::ssd), 14);
}

TEST(StoreTiers, TakeFromNearerOnesOnlyWhatWasUsedOftenEnough) {
  StoreTier ssd = of_tokens(100, Tier::ssd);
  ssd.after_uses = 2;
  Store store({of_tokens(100), ssd}, {.inclusive = true, .write = WriteMode::through});
  put_all(store, 1, 10, 0);
  EXPECT_EQ(store.occupied_bytes(Tier::ssd), 0);
  store.touch(1, 1);
  put_all(store, 1, 12, 2);
  EXPECT_EQ(store.occupied_bytes(Tier::ssd), 12);
}

TEST(StoreTiers, ThatNobodyCleansTakeNothingMoreOnceTheyAreFull) {
  StoreTier tier = of_tokens(20, Tier::ssd);
  tier.eviction = EvictionKind::none;
  Store store({tier}, {});
  put_all(store, 1, 10, 0);
  put_all(store, 2, 10, 1);
  put_all(store, 3, 10, 2);
  EXPECT_TRUE(store.find(1));
  EXPECT_FALSE(store.find(3));
  EXPECT_EQ(store.occupied_bytes(Tier::ssd), 20);
}

// Half of the capacity for two copies, and every byte written twice.
TEST(Stacks, PayForEveryReplica) {
  Scenario scenario = laws::scenario("kv_offload");
  scenario.hardware.remote = Remote{.capacity_bytes = 1e12, .bandwidth_bytes_per_s = 1e10, .latency_s = 0};
  scenario.policy.tiers = {{.kind = Tier::remote, .capacity_bytes = 8e10}};
  const Workload workload = laws::chats(5, 0.1);
  Scenario twice = scenario;
  twice.policy.tiers->front().replicas = 2;
  EXPECT_DOUBLE_EQ(Machine(twice, workload).tiers().front().capacity_bytes, 4e10);
  const std::vector<RunResult> runs = laws::run_all({{scenario, workload}, {twice, workload}});
  EXPECT_GT(runs[0].number("written_bytes.remote"), 0);
  EXPECT_DOUBLE_EQ(runs[1].number("written_bytes.remote"), 2 * runs[0].number("written_bytes.remote"));
  EXPECT_DOUBLE_EQ(runs[1].number("cost.usd_per_hour"), runs[0].number("cost.usd_per_hour"));
}

// Prompts of two texts of 300 tokens, of which the first is the same: 256 tokens of it are a whole chunk, and
// of a prompt that comes again 512.
TEST(Stacks, FindWholeChunksOfLmcache) {
  Scenario scenario = laws::scenario("lmcache");
  scenario.serving.prefix_caching = false;
  Workload workload;
  workload.absolute_times = true;
  workload.piece_begin = {0};
  for (const Key second : {2, 3, 2}) {
    const auto turn = static_cast<uint32_t>(workload.turns.size());
    workload.sessions.push_back({.first_turn = turn, .turn_count = 1});
    workload.turns.push_back({600, 1, 100.0 * turn});
    workload.pieces.push_back({1, 300});
    workload.pieces.push_back({second, 300});
    workload.piece_begin.push_back(workload.pieces.size());
  }
  const RunResult run = laws::run_all({{scenario, workload}}).front();
  EXPECT_EQ(run.turns[0].hit_tokens, 0);
  EXPECT_EQ(run.turns[1].hit_tokens, 256);
  EXPECT_EQ(run.turns[2].hit_tokens, 512);
  scenario.policy.chunk_tokens = 100;
  EXPECT_EQ(laws::run_all({{scenario, workload}}).front().turns[1].hit_tokens, 300);
}

// ---- hicache ----

// Two chats in turn, answers of one token; each round says one text of 64 tokens more. With `answers` the
// answers are part of what is said next.
Workload two_chats(bool answers) {
  Workload workload;
  workload.absolute_times = true;
  workload.piece_begin = {0};
  for (uint32_t round = 0; round < 5; ++round) {
    for (uint64_t chat = 0; chat < 2; ++chat) {
      const auto turn = static_cast<uint32_t>(workload.turns.size());
      workload.sessions.push_back({.first_turn = turn, .turn_count = 1});
      workload.turns.push_back({64 * (round + 1) + (answers ? round : 0), 1, 10.0 * turn});
      for (uint64_t text = 0; text <= round; ++text) {
        workload.pieces.push_back({100 * chat + text, 64});
        if (answers) workload.pieces.push_back({100 * chat + 50 + text, 1});
      }
      workload.piece_begin.push_back(workload.pieces.size());
    }
  }
  return workload;
}

// DRAM holds the five texts of the longest prompt and one more, the remote tier everything: what a prefetch
// brings does not displace what the same prompt needs, and what is computed beside loads is saved although
// its turn ends with it.
Scenario hicache_with_a_remote_tier() {
  Scenario scenario = laws::scenario("hicache");
  scenario.serving.schedule = StepOrder::prefill_first;
  scenario.serving.kv_capacity_tokens = 384;
  scenario.serving.max_model_len = 384;
  scenario.serving.prefix_caching = true;
  const double text_bytes = 65 * scenario.model.kv_bytes_per_token();
  scenario.hardware.remote = Remote{.capacity_bytes = 1e12, .bandwidth_bytes_per_s = 1e10, .latency_s = 0};
  scenario.policy.prefetch_on_arrival = PrefetchOnArrival::wait;
  scenario.policy.prefetch_min_tokens = 1;
  scenario.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 6 * text_bytes}, {.kind = Tier::remote}};
  return scenario;
}

// Each round finds all but the newest text: 0 + 1 + 2 + 3 + 4 of 1 + ... + 5, in both chats.
TEST(Hicache, FindsAllThatChatsHaveSaidWhereTheFarthestTierHoldsIt) {
  const RunResult result = laws::run(hicache_with_a_remote_tier(), two_chats(false));
  EXPECT_DOUBLE_EQ(result.number("token_hit_rate"), 10.0 / 15);
}

// Texts end within blocks: of 65 r - 1 tokens the full blocks of 16 are 64 r. What is full of a text is found
// although the text is not: 64 (0 + 1 + 2 + 3 + 4) of 64 (1 + ... + 5) + 0 + 1 + 2 + 3 + 4.
TEST(Hicache, FindsTheFullBlocksOfATextThatEndsWithinOne) {
  const Scenario scenario = hicache_with_a_remote_tier();
  ASSERT_EQ(scenario.serving.block_size, 16);
  const RunResult result = laws::run(scenario, two_chats(true));
  EXPECT_DOUBLE_EQ(result.number("token_hit_rate"), 640.0 / 970);
}

// ---- mooncake_store ----

TEST(MooncakeStore, KeepsPagesOfPiecesAndWholeContextsWhereThereAreNone) {
  Scenario scenario = hicache_with_a_remote_tier();
  scenario.policy.tiers->back() = mooncake_store();
  const Machine pages(scenario, two_chats(false));
  EXPECT_EQ(pages.tiers().back().eviction, EvictionKind::sharded_lru);
  EXPECT_EQ(pages.tiers().front().eviction, EvictionKind::lru);
  EXPECT_EQ(pages.options().chunk_tokens, 16);
  const Machine contexts(scenario, laws::chats(5, 0.1));
  EXPECT_EQ(contexts.tiers().back().eviction, EvictionKind::lru);
  EXPECT_EQ(contexts.options().chunk_tokens, std::nullopt);
  scenario.policy.chunk_tokens = 32;
  EXPECT_EQ(Machine(scenario, two_chats(false)).options().chunk_tokens, 32);
}

// Twenty contexts of 64 pages where 1,198 find room: twice the tier is too full, and 60 pages leave. In order
// of their last use these are the first context and most of the second; by shards they are pages of nearly
// all, none of which is whole any more.
TEST(MooncakeStore, DamagesManyContextsWhereOneWouldMakeRoom) {
  const auto whole_contexts = [](EvictionKind kind) {
    StoreTier tier = of_tokens(1200 * 16, Tier::remote);
    tier.eviction = kind;
    tier.evict_at = 0.999;
    Store store({tier}, {});
    for (Key context = 0; context < 20; ++context) {
      for (Key page = 0; page < 64; ++page)
        put_all(store, 1 + 64 * context + page, 16, static_cast<Order>(context));
    }
    int whole = 0;
    for (Key context = 0; context < 20; ++context) {
      int64_t found = 0;
      for (Key page = 0; page < 64; ++page) found += store.find(1 + 64 * context + page) ? 1 : 0;
      whole += found == 64 ? 1 : 0;
    }
    return whole;
  };
  EXPECT_EQ(whole_contexts(EvictionKind::lru), 18);
  EXPECT_LT(whole_contexts(EvictionKind::sharded_lru), 5);
}

}  // namespace
}  // namespace kvcap::stacks_test
