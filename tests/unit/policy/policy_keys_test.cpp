// Which key of a policy who listens to: every policy accepts every key, and says in a note when it has no use
// for one.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/input_error.h"
#include "laws/machines.h"
#include "policy/keys.h"
#include "scenario/load.h"
#include "unit/scenario_samples.h"

namespace kvcap::policy_keys_test {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::set<std::string>;

const Names kLoading = {"kv_offload", "cached_attention", "prefix_caching",
                        "full_reuse", "map_reduce",       "map_rerank"};
const Names kStepping = {"vllm_offload", "lmcache", "lmcache_mp", "hicache",
                         "kvbm"};           // that save while they compute
const Names kVictims = {"trtllm_offload"};  // and what the GPU evicts
const Names kNpu = {"npu_copy", "npu_reserve_1_5x", "npu_reserve_2x"};
const Names kProjecting = {"hcache"};
const Names kBlending = {"cacheblend"};
const Names kSelecting = {"hyperinfer", "h2o_lru", "h2o_lfu"};
const Names kMapping = {"map_reduce", "map_rerank"};
const Names kNobody = {};

Names operator+(Names some, const Names& more) {
  some.insert(more.begin(), more.end());
  return some;
}
const Names kPlanning = kProjecting + kBlending + Names{"adaptive"};
const Names kWriting = kLoading + kNpu + kPlanning + kSelecting + Names{"as_like"} + kStepping;
const Names kStoring = kWriting + kVictims;
const Names kLoadingStacks = kLoading + kStepping + kVictims;
const Names kPrefetchingStacks = {"hicache", "lmcache_mp", "vllm_offload"};
const Names kAll = kStoring + Names{"recompute", "ideal"};

struct KeyCase {
  std::string key, value;
  Names sessions;  // who listens where a session's history grows
  Names pieces;    // and where prompts are put together from pieces
};

const std::vector<KeyCase> kCases = {
    {"tiers", R"([{"kind": "ssd"}])", kAll, kAll},
    {"eviction", "\"fifo\"", kStoring, kStoring},
    {"eviction_unit", "\"context\"", kStoring, kNobody},
    {"match", "\"prefix\"", kStoring + Names{"ideal"}, kStoring + Names{"ideal"}},
    {"look_ahead", "true", kStoring, kStoring},
    {"inclusive", "true", kStoring, kStoring},
    {"write", "\"through\"", kWriting, kWriting},
    {"ttl_s", "60", kStoring, kStoring},
    {"save_at", "\"step\"", kStoring, kStoring},
    {"save_generated", "false", kStepping, kStepping},
    {"store_after_hits", "1", kStoring, kStoring},
    {"store_once", "true", kStoring, kStoring},
    {"checkpoint_tokens", "512", kStoring, kStoring},
    {"write_queue_s", "2", kStoring, kStoring},
    {"load", "\"blocking\"", kStoring, kStoring},
    {"block_layout", "\"layer\"", kLoadingStacks, kLoadingStacks},
    {"prefetch_on_arrival", "\"wait\"", kStoring, kStoring},
    {"prefetch_timeout_s", "3", {"hicache"}, {"hicache"}},
    {"prefetch_timeout_s_per_token", "1e-3", {"hicache"}, {"hicache"}},
    {"prefetch_timeout_max_s", "3", {"hicache"}, {"hicache"}},
    {"prefetch_min_tokens", "64", kPrefetchingStacks, kPrefetchingStacks},
    {"prefetch_capacity_share", "0.5", kPrefetchingStacks, kPrefetchingStacks},
    {"loads_first_tier_only", "true", kStoring, kStoring},
    {"load_min_tokens", "16", kStoring, kStoring},
    {"load_enqueue_s",
     "0.001",
     {"hicache", "lmcache", "trtllm_offload"},
     {"hicache", "lmcache", "trtllm_offload"}},
    {"polled_loads", "true", kStoring, kStoring},
    {"write_policy", "\"write_through\"", kStoring, kStoring},
    {"decoupled_positions", "true", kStoring, kNobody},
    {"retention", "0.5", kAll, kSelecting + Names{"as_like"}},
    {"chunk_tokens", "32", kSelecting + Names{"as_like"} + kStepping, kStoring + Names{"ideal"}},
    {"identification", "true", kSelecting, kSelecting},
    {"threshold_exponent", "1", {"hyperinfer"}, {"hyperinfer"}},
    {"reorder", "false", {"hyperinfer"}, {"hyperinfer"}},
    {"prefetch", "false", {"hyperinfer"}, {"hyperinfer"}},
    {"score", "\"importance\"", {"hyperinfer", "h2o_lfu"}, {"hyperinfer", "h2o_lfu"}},
    {"stored_bits", "8", kStoring, kStoring},
    {"unbounded", "true", kStoring, kStoring},
    {"ideal_load", "true", kStoring, kStoring},
    {"recompute_ratio", "0.5", kBlending, kBlending},
    {"full_layers", "2", kBlending, kBlending},
    {"partial_efficiency", "1", kBlending, kBlending},
    {"calls", "\"map_reduce\"", kNobody, kAll},
    {"map_tokens", "10", kNobody, kMapping},
    {"preload", "\"none\"", kLoadingStacks, kLoadingStacks},
    {"read_buffer_layers", "2", kLoadingStacks + kBlending, kLoadingStacks + kBlending},
    {"save", "\"blocking\"", kStoring, kStoring},
    {"save", "\"direct_io\"", kProjecting, kProjecting},
    {"split", "\"paper\"", kProjecting, kProjecting},
    {"recomputed_layers", "2", kProjecting, kProjecting},
    {"kv_layers", "2", kProjecting, kProjecting},
    {"split_tokens", "500", kPlanning, kPlanning},
    {"store_hidden_for_recomputed", "true", kProjecting, kProjecting},
    {"reserved_windows", "3", kNpu, kNpu},
};

// As a user writes it.
Scenario parsed(const std::string& policy, const std::string& key, const std::string& value) {
  return parse_scenario(
      sample_scenario(R"("policy": {"name": ")" + policy + "\", \"" + key + "\": " + value + "}"),
      "chat.json", {});
}

Workload pieces() {
  Workload workload;
  workload.piece_keys = PieceKeys::text;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 1});
  workload.turns.push_back({.input_tokens = 100, .output_tokens = 1});
  workload.pieces.push_back({1, 100});
  workload.piece_begin = {0, 1};
  return workload;
}

bool is_unused(const Scenario& scenario, const Workload& workload, const std::string& key) {
  const Machine machine(scenario, workload);
  for (const std::string& note : machine.notes()) {
    if (note == scenario.policy.name + " does not use policy." + key) return true;
    EXPECT_EQ(note.find("does not use"), std::string::npos) << note;
  }
  return false;
}

TEST(PolicyKeys, AreAcceptedByEveryPolicyAndNotedWhereTheyChangeNothing) {
  const Workload sessions = laws::chats(2, 1);
  for (const KeyCase& one : kCases) {
    for (std::string_view name : policy_names()) {
      const std::string policy(name);
      // What the GPU evicts are blocks of whole texts, in their own time.
      const bool is_refused =
          kVictims.contains(policy) &&
          Names{"decoupled_positions", "retention", "chunk_tokens", "save"}.contains(one.key) &&
          one.value != "\"direct_io\"";
      if (is_refused) {
        EXPECT_THROW(parsed(policy, one.key, one.value), InputError) << policy << " " << one.key;
        continue;
      }
      const Scenario scenario = parsed(policy, one.key, one.value);
      EXPECT_EQ(is_unused(scenario, sessions, one.key), !one.sessions.contains(policy))
          << policy << " " << one.key << " on sessions";
      EXPECT_EQ(is_unused(scenario, pieces(), one.key), !one.pieces.contains(policy))
          << policy << " " << one.key << " on pieces";
    }
  }
}

TEST(PolicyKeys, LoadLayerByLayerInEitherSpelling) {
  const PolicyOptions options = with_preset({.name = "kv_offload", .load = LoadMode::layerwise});
  EXPECT_EQ(options.preload, Preload::layerwise);
  EXPECT_FALSE(with_preset({.name = "kv_offload", .load = LoadMode::parked}).preload == Preload::layerwise);
}

TEST(PolicyKeys, AreTheOnesOfTheTableOfFields) {
  const Json resolved = Json::parse(parsed("hcache", "split", "null").resolved_json);
  Names fields, keys, cases = {"keep", "restore"};
  for (const auto& [key, value] : resolved["policy"].items()) fields.insert(key);
  for (std::string_view key : policy_keys()) keys.emplace(key);
  for (const KeyCase& one : kCases) cases.insert(one.key);
  fields.erase("name");
  EXPECT_EQ(keys, fields);
  EXPECT_EQ(cases, keys);
}

TEST(PolicyKeys, AreAllNamedInOneNote) {
  Scenario scenario = laws::scenario("recompute");
  scenario.policy.split = Split::paper;
  scenario.policy.stored_bits = 8;
  EXPECT_EQ(Machine(scenario, laws::chats(2, 1)).notes().back(),
            "recompute does not use policy.stored_bits, policy.split");
}

TEST(PolicyKeys, OfEvictionWithoutTheKnowledgeThatItNeedsAreNoted) {
  const auto notes = [](std::optional<bool> look_ahead, EvictionKind eviction) {
    Scenario scenario = laws::scenario("kv_offload");
    scenario.policy.look_ahead = look_ahead;
    scenario.policy.eviction = eviction;
    const Machine machine(scenario, laws::chats(2, 1));
    std::string all;
    for (const std::string& note : machine.notes()) all += note + "\n";
    return all;
  };
  const std::string note =
      "no effect: eviction next_use of kv_offload is lru, because only policy.look_ahead=true tells it the "
      "waiting requests\n";
  EXPECT_NE(notes(std::nullopt, EvictionKind::next_use).find(note), std::string::npos);
  EXPECT_EQ(notes(true, EvictionKind::next_use).find("no effect"), std::string::npos);
  EXPECT_EQ(notes(std::nullopt, EvictionKind::lru).find("no effect"), std::string::npos);
}

// A preset's own choices are nobody's wish.
TEST(PolicyKeys, OfAPresetAreNotNoted) {
  Scenario scenario = laws::scenario("cached_attention");
  scenario.policy.keep = Keep::hidden;
  scenario.policy.restore = Restore::project;
  const Machine machine(scenario, laws::chats(2, 1));
  for (const std::string& note : machine.notes()) {
    EXPECT_EQ(note.find("does not use"), std::string::npos) << note;
  }
}

// ---- keep and restore ----

TEST(PolicyForms, GoTogetherAsTheTableOfRestorationsSays) {
  for (std::size_t i = 0; i < restore_table().size(); ++i) {
    const RestoreRow& row = restore_table()[i];
    EXPECT_EQ(row.restore, static_cast<Restore>(i));
    for (std::size_t k = 0; k < kKeepNames.size(); ++k) {
      const auto keep = static_cast<Keep>(k);
      const bool listed = std::find(row.keeps.begin(), row.keeps.end(), keep) != row.keeps.end();
      const std::string policy = R"("policy": {"name": "hcache", "keep": ")" + std::string(name(keep)) +
                                 R"(", "restore": ")" + std::string(name(row.restore)) + "\"}";
      bool accepted = true;
      try {
        parse_scenario(sample_scenario(policy), "chat.json", {});
      } catch (const std::exception&) {
        accepted = false;
      }
      EXPECT_EQ(accepted, listed) << policy;
    }
  }
}

TEST(PolicyForms, OfEveryPresetGoTogether) {
  for (std::string_view name : policy_names()) {
    const PolicyOptions options = with_preset({.name = std::string(name)});
    EXPECT_TRUE(goes_together(*options.keep, *options.restore)) << name;
  }
}

TEST(PolicyForms, AreSaidWhereTheyAreNotTheNames) {
  EXPECT_EQ(policy_summary(with_preset({.name = "hcache"})), policy_row("hcache").summary);
  EXPECT_EQ(
      policy_summary(with_preset({.name = "kv_offload", .keep = Keep::hidden, .restore = Restore::project})),
      "keep KV in host tiers and load it (but keep hidden, restore project)");
}

// HyperInfer's defaults belong to its restoration: under another placement it still selects, and its
// placement with another restoration drops nothing.
TEST(PolicyForms, BringTheirOwnDefaults) {
  const PolicyOptions selecting = with_preset({.name = "kv_offload", .restore = Restore::important});
  EXPECT_EQ(selecting.retention, 0.25);
  EXPECT_EQ(selecting.identification, true);
  const PolicyOptions loading = with_preset({.name = "hyperinfer", .restore = Restore::load});
  EXPECT_EQ(loading.retention, std::nullopt);
  EXPECT_EQ(loading.eviction, EvictionKind::score);
}

// Adaptive's choice without hidden states.
TEST(PolicyForms, LetTheFastestWayChooseWithKvAlone) {
  Scenario scenario = laws::scenario("adaptive");
  scenario.policy.keep = Keep::kv;
  const Machine machine(scenario, 2000, 2000);
  EXPECT_DOUBLE_EQ(machine.policy().traits().stored_bytes_per_token, 32 * 16384);
  EXPECT_EQ(machine.policy().schedule(2000, Tier::ssd).hidden_layers, 0);
}

// Chunks found anywhere are taken as they are whatever they are kept as.
TEST(PolicyForms, SayThatChunksTakenAsTheyAreSpoilAnswers) {
  Scenario scenario = laws::scenario("full_reuse");
  const std::string note = Machine(scenario, 1, 1).quality_note();
  EXPECT_NE(note, "");
  scenario.policy.keep = Keep::hidden;
  scenario.policy.restore = Restore::project;
  EXPECT_EQ(Machine(scenario, 1, 1).quality_note(), note);
}

}  // namespace
}  // namespace kvcap::policy_keys_test
