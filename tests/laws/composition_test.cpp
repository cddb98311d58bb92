// Tests that policies compose: a policy is a stored form, a restoration, a placement and a matching rule, and
// its name is a preset of these. Equal settings give byte-identical results.
#include <gtest/gtest.h>

#include "laws/machines.h"
#include "metrics/serialize.h"
#include "workload/workload.h"

namespace kvcap::laws::composition_test {
namespace {

// Returns the chats of the demo.
Workload demo(int64_t sessions) {
  WorkloadOptions options;
  options.source.kind = "chat";
  options.arrivals.sessions_per_s = 0.1;
  options.sessions = sessions;
  return make_workload(options, 1);
}

Workload prefixes() {
  WorkloadOptions options;
  options.source.kind = "few_shot";
  options.source.dataset = "rte";
  options.arrivals = {.process = ArrivalProcess::constant, .sessions_per_s = 0.1};
  options.sessions = 12;
  options.warm_start = true;
  return make_workload(options, 1);
}

Workload questions() {
  WorkloadOptions options;
  options.source.kind = "rag";
  options.source.base_queries = 5;
  options.arrivals.sessions_per_s = 0.2;
  return make_workload(options, 1);
}

// Returns the result as text, without the policy's name.
std::string bytes_of(RunResult result) {
  result.policy.clear();
  result.policy_summary.clear();
  return serialize(result);
}

Scenario composed(const std::string& name, Keep keep, Restore restore) {
  Scenario result = scenario(name);
  result.policy.keep = keep;
  result.policy.restore = restore;
  return result;
}

class EveryPreset : public testing::TestWithParam<std::string_view> {
 protected:
  std::string policy() const { return std::string(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Table, EveryPreset, testing::ValuesIn(policy_names().begin(), policy_names().end()),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(EveryPreset, IsTheSumOfItsKeys) {
  const Scenario named = scenario(policy());
  Scenario written = named;
  written.policy = with_preset(named.policy);
  written.policy.name = "kv_offload";
  for (const Workload& workload : {chats(40, 0.2), prefixes(), questions()}) {
    std::vector<RunResult> runs = run_all({{named, workload}, {written, workload}});
    for (RunResult& run : runs) run.notes.clear();  // some contain the policy's name
    EXPECT_TRUE(bytes_of(runs[0]) == bytes_of(runs[1]));
  }
}

// Runs every restoration under every placement.
TEST_P(EveryPreset, PlacesWhateverComesBack) {
  std::vector<Case> cases;
  for (const RestoreRow& row : restore_table()) {
    for (Keep keep : row.keeps) {
      for (const Workload& workload : {chats(15, 0.3), prefixes(), questions()}) {
        Scenario tight = composed(policy(), keep, row.restore);
        const bool takes_victims = with_preset(tight.policy).save_at == SaveAt::eviction;
        if (takes_victims && keep == Keep::hidden) continue;  // the GPU does not evict hidden states
        if (takes_victims) tight.serving.prefix_caching = true;
        tight.serving.max_model_len = 8192;
        tight.serving.max_num_batched_tokens = 8192;
        tight.policy.tiers = {{.kind = Tier::hbm, .capacity_bytes = 2e9, .exclusive = keep == Keep::kv},
                              {.kind = Tier::dram, .capacity_bytes = 4e9},
                              {.kind = Tier::ssd, .capacity_bytes = 20e9}};
        cases.push_back({tight, workload});
      }
    }
  }
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PolicyOptions& options = cases[i].scenario.policy;
    SCOPED_TRACE(std::string(name(*options.keep)) + " " + std::string(name(*options.restore)));
    EXPECT_EQ(runs[i].number("completed") + runs[i].number("rejected"),
              static_cast<double>(cases[i].workload.turns.size()));
    EXPECT_LT(runs[i].number("rejected"), runs[i].number("completed"));
    if (*options.restore == Restore::recompute) continue;  // finds only what the GPU kept
    EXPECT_GT(runs[i].number("token_hit_rate"), 0);
  }
}

// Returns the number of keys that the scenario's note calls unused.
std::size_t unused_keys_of(const Scenario& scenario, const Workload& workload) {
  std::size_t keys = 0;
  const Machine machine(scenario, workload);
  for (const std::string& note : machine.notes()) {
    if (note.find(" does not use ") == std::string::npos) continue;
    for (std::size_t at = note.find("policy."); at != std::string::npos; at = note.find("policy.", at + 1)) {
      ++keys;
    }
  }
  return keys;
}

// Sets those of these fields that have no effect.
template <auto... kFields>
Scenario with_unused(Scenario scenario, const PolicyOptions& from, const Workload& workload) {
  const auto set = [&](auto field) {
    Scenario with = scenario;
    with.policy.*field = from.*field;
    if (unused_keys_of(with, workload) > unused_keys_of(scenario, workload)) scenario = with;
  };
  (set(kFields), ...);
  return scenario;
}

TEST_P(EveryPreset, ChangesNothingForKeysOfNoUse) {
  using O = PolicyOptions;
  const O other = {.match = Match::prefix,
                   .look_ahead = true,
                   .inclusive = true,
                   .ttl_s = 40,
                   .decoupled_positions = true,
                   .retention = 0.5,
                   .chunk_tokens = 48,
                   .identification = true,
                   .threshold_exponent = 1,
                   .reorder = false,
                   .prefetch = false,
                   .score = Score::importance,
                   .stored_bits = 8,
                   .ideal_load = true,
                   .recompute_ratio = 0.5,
                   .full_layers = 3,
                   .partial_efficiency = 0.9,
                   .calls = Calls::map_rerank,
                   .map_tokens = 5,
                   .preload = Preload::layerwise,
                   .read_buffer_layers = 1,
                   .save = SaveMode::direct_io,
                   .split = Split::hidden_only,
                   .split_tokens = 100,
                   .store_hidden_for_recomputed = true,
                   .reserved_windows = 3};
  for (const Workload& workload : {chats(40, 0.2), prefixes(), questions()}) {
    const Scenario plain = scenario(policy());
    const Scenario set =
        with_unused<&O::match, &O::look_ahead, &O::inclusive, &O::ttl_s, &O::decoupled_positions,
                    &O::retention, &O::chunk_tokens, &O::identification, &O::threshold_exponent, &O::reorder,
                    &O::prefetch, &O::score, &O::stored_bits, &O::ideal_load, &O::recompute_ratio,
                    &O::full_layers, &O::partial_efficiency, &O::calls, &O::map_tokens, &O::preload,
                    &O::read_buffer_layers, &O::save, &O::split, &O::split_tokens,
                    &O::store_hidden_for_recomputed, &O::reserved_windows>(plain, other, workload);
    EXPECT_GE(unused_keys_of(set, workload), 5U) << "no policy listens to all of them";
    std::vector<RunResult> runs = run_all({{plain, workload}, {set, workload}});
    for (RunResult& run : runs) run.notes.clear();
    EXPECT_TRUE(bytes_of(runs[0]) == bytes_of(runs[1]));
  }
}

TEST(Composition, MakesHCacheOfKvOffloadAndTheOtherWayRound) {
  const Workload workload = demo(150);
  const std::vector<RunResult> runs =
      run_all({{scenario("hcache"), workload},
               {composed("kv_offload", Keep::hidden, Restore::project), workload},
               {scenario("kv_offload"), workload},
               {composed("hcache", Keep::kv, Restore::load), workload}});
  EXPECT_TRUE(bytes_of(runs[0]) == bytes_of(runs[1]));
  EXPECT_TRUE(bytes_of(runs[2]) == bytes_of(runs[3]));
  EXPECT_FALSE(bytes_of(runs[0]) == bytes_of(runs[2]));
}

// Combines HCache's restoration with CachedAttention's placement: the bytes of the former, the tiers of the
// latter.
TEST(Composition, RestoresHiddenStatesUnderCachedAttentionsPlacement) {
  const auto tight = [](Scenario scenario) {
    scenario.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 8e9},
                             {.kind = Tier::ssd, .capacity_bytes = 30e9}};
    scenario.serving.max_num_seqs = 2;
    return scenario;
  };
  const Workload crowd = chats(200, 2.0, 5, 2);
  const std::vector<RunResult> runs =
      run_all({{tight(scenario("cached_attention")), crowd},
               {tight(scenario("hcache")), crowd},
               {tight(composed("cached_attention", Keep::hidden, Restore::project)), crowd}});
  EXPECT_EQ(runs[2].number("stored_bytes_per_token"), runs[1].number("stored_bytes_per_token"));
  EXPECT_LT(runs[2].number("stored_bytes_per_token"), 0.7 * runs[0].number("stored_bytes_per_token"));
  // Fewer bytes per token let more contexts be found, and look-ahead moves them into DRAM in time.
  EXPECT_GT(runs[2].number("token_hit_rate"), runs[0].number("token_hit_rate"));
  EXPECT_GT(runs[2].number("token_hit_rate"), runs[1].number("token_hit_rate"));
  EXPECT_GT(runs[2].number("hit_tokens.dram"), runs[1].number("hit_tokens.dram"));
}

}  // namespace
}  // namespace kvcap::laws::composition_test
