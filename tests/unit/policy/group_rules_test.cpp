// What policies store and load of layers that keep a window or a state, and which of them refuse.
#include "policy/group_rules.h"

#include <gtest/gtest.h>

#include <set>

#include "laws/machines.h"
#include "policy/stored_layers.h"
#include "policy/table.h"

namespace kvcap::group_rules_test {
namespace {

using laws::a100;
using laws::llama_2_7b;

// 8 full and 24 other layers; KV of a token takes 16,384 bytes a layer, hidden states 8,192.
ModelSpec with_others(LayerGroup others) {
  ModelSpec model = llama_2_7b();
  others.layers = 24;
  model.layer_groups = {{.layers = 8}, std::move(others)};
  return model;
}
ModelSpec sliding() { return with_others({.attention = AttentionKind::sliding, .window_tokens = 1024}); }
ModelSpec chunked() { return with_others({.attention = AttentionKind::chunked, .window_tokens = 1024}); }
// 32 x 128 x 128 elements of 4 bytes and 3 inputs of 4096 + 2 x 16 x 128 channels of 2 bytes.
constexpr double kStateBytes = 32 * 128 * 128 * 4 + 3 * 8192 * 2;
ModelSpec recurrent() {
  return with_others(
      {.attention = AttentionKind::recurrent,
       .recurrent = RecurrentState{.heads = 32, .head_dim = 128, .state_size = 128, .groups = 16}});
}

LayerWork loaded(const ModelSpec& model, LayerForm form, int64_t found, int64_t resident = 0) {
  const CostModel cost(model, a100(), 1);
  const StoredLayers stored(cost, 16);
  const Hit hit{.tier = Tier::ssd, .tokens = found};
  return form == LayerForm::hidden ? stored.hidden(32, {&hit, 1}, resident)
                                   : stored.kv(32, {&hit, 1}, {}, resident);
}
double loaded_bytes(const ModelSpec& model, int64_t found, int64_t resident = 0,
                    LayerForm form = LayerForm::kv) {
  return 32 * loaded(model, form, found, resident).load_bytes[index(Tier::ssd)];
}

TEST(GroupRules, OfASlidingLayerItsWindowIsLoaded) {
  EXPECT_DOUBLE_EQ(loaded_bytes(sliding(), 4000), 16384.0 * (8 * 4000 + 24 * 1024));
  EXPECT_DOUBLE_EQ(loaded_bytes(sliding(), 1000), 16384.0 * 32 * 1000);
  // The newest tokens are those that were found; what lies on the GPU is behind the window.
  EXPECT_DOUBLE_EQ(loaded_bytes(sliding(), 500, 3500), 16384.0 * 32 * 500);
  EXPECT_DOUBLE_EQ(loaded_bytes(sliding(), 4000, 0, LayerForm::hidden), 8192.0 * (8 * 4000 + 24 * 1024));
}

TEST(GroupRules, OfAChunkedLayerTheTokensOfTheLastChunkAreLoaded) {
  // 4,000 = 3 x 1,024 + 928.
  EXPECT_DOUBLE_EQ(loaded_bytes(chunked(), 4000), 16384.0 * (8 * 4000 + 24 * 928));
  EXPECT_DOUBLE_EQ(loaded_bytes(chunked(), 3000, 1000), 16384.0 * (8 * 3000 + 24 * 928));
}

TEST(GroupRules, OfARecurrentLayerOneStateIsLoaded) {
  EXPECT_DOUBLE_EQ(loaded_bytes(recurrent(), 4000), 16384.0 * 8 * 4000 + 24 * kStateBytes);
  EXPECT_DOUBLE_EQ(loaded_bytes(recurrent(), 4000, 0, LayerForm::hidden),
                   8192.0 * 8 * 4000 + 24 * kStateBytes);
  const CostModel cost(recurrent(), a100(), 1);
  EXPECT_DOUBLE_EQ(loaded(recurrent(), LayerForm::hidden, 4000).compute_s,
                   cost.project_kv_layer_s(4000) * 8 / 32);
  // 63 pieces of 64 tokens for a full layer, one for a state.
  EXPECT_DOUBLE_EQ(32 * loaded(recurrent(), LayerForm::kv, 4000).load_requests[index(Tier::ssd)],
                   8 * 63 + 24);
}

TEST(GroupRules, TiersThatShareAContextShareItsWindowAndItsState) {
  const std::vector<Hit> hits = {{.tier = Tier::dram, .tokens = 1000}, {.tier = Tier::ssd, .tokens = 3000}};
  const CostModel cost(recurrent(), a100(), 1);
  const LayerWork work = StoredLayers(cost, 16).kv(32, hits);
  EXPECT_DOUBLE_EQ(32 * work.load_bytes[index(Tier::dram)], 16384.0 * 8 * 1000 + 6 * kStateBytes);
  EXPECT_DOUBLE_EQ(32 * work.load_bytes[index(Tier::ssd)], 16384.0 * 8 * 3000 + 18 * kStateBytes);
}

TEST(GroupRules, StoredAreAllTokensOfWindowsAndAStateEachSoManyTokens) {
  const CostModel windows(sliding(), a100(), 1);
  EXPECT_DOUBLE_EQ(StoredLayers(windows, 16).kv_bytes(), 16384);
  const CostModel states(recurrent(), a100(), 1);
  EXPECT_DOUBLE_EQ(32 * StoredLayers(states, 16, false, 512).kv_bytes(),
                   8 * 16384.0 + 24 * kStateBytes / 512);
  EXPECT_DOUBLE_EQ(32 * StoredLayers(states, 16, false, 512).hidden_bytes(),
                   8 * 8192.0 + 24 * kStateBytes / 512);
  // 8.5 bits of an element; a state stays as it is.
  EXPECT_DOUBLE_EQ(32 * StoredLayers(states, 8, false, 512).kv_bytes(),
                   8 * 8192 * 8.5 / 8 + 24 * kStateBytes / 512);
}

TEST(GroupRules, AStateIsStoredAsOftenAsAStepCanLeaveOneUnlessTheScenarioSaysSo) {
  const CostModel cost(recurrent(), a100(), 1);
  PolicyInputs inputs{.cost = &cost, .step_tokens = 2100, .block_tokens = 528};
  EXPECT_DOUBLE_EQ(StoredLayers(inputs).kv_bytes(), StoredLayers(cost, 16, false, 3 * 528).kv_bytes());
  inputs.step_tokens = 100;
  EXPECT_DOUBLE_EQ(StoredLayers(inputs).kv_bytes(), StoredLayers(cost, 16, false, 528).kv_bytes());
  inputs.options.checkpoint_tokens = 1056;
  EXPECT_DOUBLE_EQ(StoredLayers(inputs).kv_bytes(), StoredLayers(cost, 16, false, 1056).kv_bytes());
}

TEST(GroupRules, AModelInOneFullGroupIsStoredAsOneWithoutGroups) {
  ModelSpec grouped = llama_2_7b();
  grouped.layer_groups = {{.layers = 32}};
  for (LayerForm form : {LayerForm::kv, LayerForm::hidden}) {
    EXPECT_EQ(loaded(grouped, form, 1000).load_bytes, loaded(llama_2_7b(), form, 1000).load_bytes);
    EXPECT_EQ(loaded(grouped, form, 1000).load_requests, loaded(llama_2_7b(), form, 1000).load_requests);
    EXPECT_EQ(loaded(grouped, form, 1000).projected_tokens,
              loaded(llama_2_7b(), form, 1000).projected_tokens);
  }
}

std::string refused_field(const PolicyOptions& options, const ModelSpec& model) {
  const std::optional<GroupRefusal> found = refusal(with_preset(options), model);
  return found ? found->field : "";
}

TEST(GroupRules, EveryPolicyRunsOrRefuses) {
  const std::set<std::string_view> no_windows = {"cacheblend",       "hyperinfer",    "as_like",
                                                 "h2o_lru",          "h2o_lfu",       "npu_copy",
                                                 "npu_reserve_1_5x", "npu_reserve_2x"};
  for (std::string_view policy : policy_names()) {
    const PolicyOptions options{.name = std::string(policy)};
    const bool refuses = no_windows.contains(policy);
    EXPECT_EQ(refused_field(options, llama_2_7b()), "") << policy;
    EXPECT_EQ(refused_field(options, sliding()), refuses ? "restore" : "") << policy;
    EXPECT_EQ(refused_field(options, chunked()), refuses ? "restore" : "") << policy;
    const PolicyOptions preset = with_preset(options);
    const std::string_view field = refuses                                      ? "restore"
                                   : preset.decoupled_positions.value_or(false) ? "decoupled_positions"
                                   : preset.match == Match::chunk               ? "match"
                                                                                : "";
    EXPECT_EQ(refused_field(options, recurrent()), field) << policy;
  }
}

TEST(GroupRules, TokensOfALayerAreNotDividedWhereLayersNeedDifferentTokens) {
  EXPECT_EQ(refused_field({.name = "hcache", .split = Split::token}, sliding()), "split");
  EXPECT_EQ(refused_field({.name = "hcache", .split = Split::token_rounded}, recurrent()), "split");
  EXPECT_EQ(refused_field({.name = "hcache", .split = Split::token}, llama_2_7b()), "");
  EXPECT_EQ(refused_field({.name = "kv_offload", .split = Split::token}, sliding()), "");
}

TEST(GroupRules, ARecurrentStateCannotLoseItsFrontNorStandForAChunk) {
  EXPECT_EQ(refused_field({.name = "kv_offload", .decoupled_positions = true}, recurrent()),
            "decoupled_positions");
  EXPECT_EQ(refused_field({.name = "kv_offload", .match = Match::chunk}, recurrent()), "match");
  EXPECT_EQ(refused_field({.name = "kv_offload", .match = Match::chunk}, sliding()), "");
}

}  // namespace
}  // namespace kvcap::group_rules_test
