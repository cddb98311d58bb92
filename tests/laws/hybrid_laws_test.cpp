// Laws of models whose layers keep a window or a state: every policy serves them or is refused with a reason,
// and the laws of all other models hold.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "laws/machines.h"
#include "policy/group_rules.h"
#include "run/engine_memory.h"

namespace kvcap::hybrid_laws_test {
namespace {
using namespace laws;

// Returns a model with 8 full layers among 32.
ModelSpec with_others(const std::string& name, LayerGroup others) {
  ModelSpec model = llama_2_7b();
  model.name = name;
  model.num_key_value_heads = 8;
  model.max_position_embeddings = 32768;
  others.layers = 24;
  model.layer_groups = {{.layers = 8}, std::move(others)};
  return model;
}

ModelSpec model_of(const std::string& kind) {
  if (kind == "sliding") {
    return with_others(kind, {.attention = AttentionKind::sliding, .window_tokens = 512});
  }
  if (kind == "chunked") {
    return with_others(kind, {.attention = AttentionKind::chunked, .window_tokens = 1024});
  }
  return with_others(
      kind, {.attention = AttentionKind::recurrent,
             .recurrent = RecurrentState{.heads = 32, .head_dim = 64, .state_size = 64, .groups = 8}});
}
const std::vector<std::string> kKinds = {"sliding", "chunked", "recurrent"};

std::vector<std::string> served(const std::string& kind) {
  std::vector<std::string> policies;
  for (std::string_view policy : policy_names()) {
    const PolicyOptions options = with_preset({.name = std::string(policy)});
    if (!refusal(options, model_of(kind))) policies.emplace_back(policy);
  }
  return policies;
}

Scenario hybrid(const std::string& kind, const std::string& policy, bool prefix_caching = false) {
  Scenario scenario = laws::scenario(policy);
  scenario.model = model_of(kind);
  scenario.serving.prefix_caching = prefix_caching;
  return scenario;
}

class HybridModel : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Of, HybridModel, testing::ValuesIn(kKinds),
                         [](const auto& one) { return one.param; });

TEST_P(HybridModel, LosesNoTurnUnderAnyPolicy) {
  const Workload workload = chats(40, 1);
  std::vector<Case> cases;
  for (const std::string& policy : served(GetParam())) {
    for (bool caching : {false, true}) {
      Scenario tight = hybrid(GetParam(), policy, caching);
      // At most eight contexts fit: there are always preempted or waiting turns.
      tight.serving.kv_capacity_tokens = 20'000;
      tight.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 2e9},
                            {.kind = Tier::ssd, .capacity_bytes = 8e9}};
      cases.push_back({tight, workload});
    }
  }
  EXPECT_GT(cases.size(), 10U);
  for (const RunResult& result : run_all(cases)) {
    EXPECT_EQ(result.number("completed"), static_cast<double>(workload.turns.size()));
  }
}

// Only the needed part of a context is restored: fewer bytes than are stored.
TEST_P(HybridModel, ReadsLessThanItStores) {
  const Workload workload = one_turn(8000, 100);
  for (const std::string policy : {"kv_offload", "hcache", "cached_attention"}) {
    const Scenario scenario = hybrid(GetParam(), policy);
    const RunResult result = run(scenario, workload);
    const double read = result.number("read_bytes.ssd");
    const double stored = result.number("stored_bytes_per_token") * result.number("hit_tokens.ssd");
    EXPECT_GT(read, 0) << policy;
    EXPECT_LT(read, 0.9 * stored) << policy;
  }
}

// A context of 8,000 tokens is stored on SSDs. KV takes 4,096 bytes per token and layer: full layers load all
// tokens, sliding ones 512, chunked ones 8,000 mod 1,024 = 832. A state has 32 x 64 x 64 x 4 bytes and 3
// inputs of 32 x 64 + 2 x 8 x 64 channels of 2 bytes.
TEST_P(HybridModel, LoadsTheSumOfWhatItsLayersNeed) {
  const double state = 32 * 64 * 64 * 4 + 3 * (32 * 64 + 2 * 8 * 64) * 2;
  const double others = GetParam() == "sliding"   ? 512 * 4096.0
                        : GetParam() == "chunked" ? 832 * 4096.0
                                                  : state;
  const RunResult result = run(hybrid(GetParam(), "kv_offload"), one_turn(8000, 100));
  EXPECT_NEAR(result.number("read_bytes.ssd"), 8 * 8000 * 4096.0 + 24 * others, 1);
}

TEST_P(HybridModel, IsNoSlowerOnFasterHardwareUnderAnyPolicy) {
  std::vector<Case> cases;
  const std::vector<std::string> policies = served(GetParam());
  for (const std::string& policy : policies) {
    Scenario slow = hybrid(GetParam(), policy);
    Scenario fast = slow;
    fast.hardware.gpu.peak_flops *= 2;
    fast.hardware.gpu.memory_bandwidth_bytes_per_s *= 2;
    fast.hardware.pcie.h2d_bandwidth_bytes_per_s *= 2;
    fast.hardware.ssd->read_bandwidth_bytes_per_s *= 2;
    cases.push_back({slow, one_turn(8000, 100, 20)});
    cases.push_back({fast, one_turn(8000, 100, 20)});
  }
  const std::vector<RunResult> results = run_all(cases);
  for (std::size_t i = 0; i < policies.size(); ++i) {
    EXPECT_LT(results[2 * i + 1].number("mean_ttft_ms"), results[2 * i].number("mean_ttft_ms"))
        << policies[i];
    EXPECT_LT(results[2 * i + 1].number("mean_e2el_ms"), results[2 * i].number("mean_e2el_ms"))
        << policies[i];
  }
}

// A window or a state is smaller than all tokens: a turn over a long context is not answered later.
TEST_P(HybridModel, IsNoSlowerThanTheSameModelOfFullLayers) {
  std::vector<Case> cases;
  for (const std::string policy : {"recompute", "kv_offload"}) {
    Scenario full = hybrid(GetParam(), policy);
    full.model.layer_groups.clear();
    cases.push_back({full, one_turn(12000, 100, 50)});
    cases.push_back({hybrid(GetParam(), policy), one_turn(12000, 100, 50)});
  }
  const std::vector<RunResult> results = run_all(cases);
  for (std::size_t i = 0; i < results.size(); i += 2) {
    EXPECT_LT(results[i + 1].number("mean_tpot_ms"), results[i].number("mean_tpot_ms"));
    EXPECT_LE(results[i + 1].number("mean_ttft_ms"), results[i].number("mean_ttft_ms"));
  }
}

// States are stored every 2,048 tokens and at the session's end, in its last block. 5,000 tokens: with blocks
// of 16, up to 4,992.
TEST(HybridModel, FindsASessionsContextUpToItsLastBlock) {
  Scenario scenario = hybrid("recurrent", "kv_offload", true);
  const int64_t block = kv_layout(scenario).hit_tokens();
  const RunResult result = run(scenario, one_turn(5000, 100));
  EXPECT_EQ(result.number("hit_tokens.ssd"), static_cast<double>(5000 / block * block));
}

// Runs of many steps have the same effects as single steps: a state that a decode passes, a block that leaves
// a window.
TEST_P(HybridModel, FindsTheSameByRequestAndByLayer) {
  const Workload workload = chats(8, 1e-3, 3, 1000);
  Scenario by_request = hybrid(GetParam(), "recompute", true);
  Scenario by_layer = by_request;
  by_layer.fidelity = Fidelity::layer;
  const std::vector<RunResult> results = run_all({{by_request, workload}, {by_layer, workload}});
  EXPECT_GT(results[0].number("hit_tokens.hbm"), 0);
  EXPECT_EQ(results[0].number("hit_tokens.hbm"), results[1].number("hit_tokens.hbm"));
}

TEST_P(HybridModel, RepeatsItself) {
  const Scenario scenario = hybrid(GetParam(), "cached_attention", true);
  const Workload workload = chats(20, 1);
  const std::vector<RunResult> twice = run_all({{scenario, workload}, {scenario, workload}});
  EXPECT_EQ(twice[0].number("mean_ttft_ms"), twice[1].number("mean_ttft_ms"));
  EXPECT_EQ(twice[0].number("token_hit_rate"), twice[1].number("token_hit_rate"));
}

}  // namespace
}  // namespace kvcap::hybrid_laws_test
