// What models of today keep of a context, against sums over their layers. The dimensions are those of the
// models' config.json files, mostly as ai-dynamo/aiconfigurator 095f58a has them.
#include <gtest/gtest.h>

#include "spec/model_spec.h"

namespace kvcap::state_sizes_test {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

LayerGroup full(int64_t layers, int64_t kv_heads, int64_t head_dim) {
  return {.layers = layers,
          .attention = AttentionKind::full,
          .num_key_value_heads = kv_heads,
          .head_dim = head_dim};
}

LayerGroup windowed(AttentionKind kind, int64_t layers, int64_t window, int64_t kv_heads, int64_t head_dim) {
  LayerGroup group = full(layers, kv_heads, head_dim);
  group.attention = kind;
  group.window_tokens = window;
  return group;
}

LayerGroup sliding(int64_t layers, int64_t window, int64_t kv_heads, int64_t head_dim) {
  return windowed(AttentionKind::sliding, layers, window, kv_heads, head_dim);
}

LayerGroup recurrent(int64_t layers, const RecurrentState& state) {
  return {.layers = layers, .attention = AttentionKind::recurrent, .recurrent = state};
}

// Mamba-2: heads of head_dim, a state of state_size for each, groups that share B and C.
RecurrentState mamba2(int64_t heads, int64_t head_dim, int64_t state_size, int64_t groups = 8) {
  return {.heads = heads, .head_dim = head_dim, .state_size = state_size, .groups = groups};
}

// Gated delta rule with keys and values of 128.
RecurrentState delta_rule(int64_t value_heads, int64_t key_heads, double state_bytes = 4) {
  return {.heads = value_heads,
          .head_dim = 128,
          .state_size = 128,
          .groups = key_heads,
          .state_bytes_per_element = state_bytes};
}

ModelSpec model_of(std::vector<LayerGroup> groups) {
  ModelSpec model;
  model.num_attention_heads = 64;
  model.num_key_value_heads = 8;
  model.head_dim = 128;
  for (const LayerGroup& group : groups) model.num_hidden_layers += group.layers;
  model.layer_groups = std::move(groups);
  return model;
}

ModelSpec dense(int64_t layers, int64_t kv_heads, int64_t head_dim = 128) {
  ModelSpec model;
  model.num_hidden_layers = layers;
  model.num_attention_heads = 64;
  model.num_key_value_heads = kv_heads;
  model.head_dim = head_dim;
  return model;
}

ModelSpec latent(int64_t layers, double kv_bytes_per_element = 2) {
  ModelSpec model = dense(layers, 128);
  model.latent = LatentAttention{.kv_lora_rank = 512, .qk_rope_head_dim = 64};
  model.kv_bytes_per_element = kv_bytes_per_element;
  return model;
}

TEST(StateSizes, OfFullAttentionAreKeysAndValuesOfEveryLayer) {
  // 2 L g d b.
  EXPECT_EQ(dense(32, 8).kv_bytes_per_token(), 131'072);   // Llama-3.1-8B
  EXPECT_EQ(dense(80, 8).kv_bytes_per_token(), 327'680);   // 70B
  EXPECT_EQ(dense(126, 8).kv_bytes_per_token(), 516'096);  // 405B
  EXPECT_EQ(dense(36, 8).kv_bytes_per_token(), 147'456);   // Qwen3-8B
  EXPECT_EQ(dense(64, 8).kv_bytes_per_token(), 262'144);   // 32B
  EXPECT_EQ(dense(48, 4).kv_bytes_per_token(), 98'304);    // 30B-A3B
  EXPECT_EQ(dense(94, 4).kv_bytes_per_token(), 192'512);   // 235B-A22B
  EXPECT_EQ(dense(62, 8).kv_bytes_per_token(), 253'952);   // Coder-480B, MiniMax-M2.5
  EXPECT_EQ(dense(60, 4).kv_bytes_per_token(), 122'880);   // MiniMax-M3
  EXPECT_EQ(dense(48, 4).window_bytes(100'000), 0);
  EXPECT_EQ(dense(48, 4).recurrent_state_bytes(), 0);
}

TEST(StateSizes, OfLatentAttentionAreOneLatentAndOneRotaryKeyOfEveryLayer) {
  // L (512 + 64) b.
  EXPECT_EQ(latent(61).kv_bytes_per_token(), 70'272);     // DeepSeek-V3, Kimi-K2
  EXPECT_EQ(latent(61, 1).kv_bytes_per_token(), 35'136);  // in 8 bits
  EXPECT_EQ(latent(78).kv_bytes_per_token(), 89'856);     // GLM-5.2
  EXPECT_EQ(latent(78, 1).kv_bytes_per_token(), 44'928);
}

TEST(StateSizes, OfAPackedLatentAreWhatTheFormatTakes) {
  // vLLM's fp8_ds_mla: 512 elements of 8 bits, 4 scales of 4 bytes, 64 rotary elements of 2: 656 a layer.
  ModelSpec v3 = latent(61);
  v3.layer_groups = {{.layers = 61, .attention = AttentionKind::latent, .kv_bytes_per_token = 656}};
  EXPECT_EQ(v3.kv_bytes_per_token(), 40'016);
  // DeepSeek-V3.2: beside it an indexer's key of 128 elements of 8 bits and a scale of 4 bytes in each layer.
  v3.layer_groups[0].indexer = Indexer{};
  EXPECT_EQ(v3.kv_bytes_per_token(), 40'016 + 61 * 132);
  EXPECT_EQ(v3.kv_bytes_per_token(), 48'068);
}

TEST(StateSizes, OfAnIndexerThatLayersShareCountOnceForEachThatHasOne) {
  // GLM-5.2: 21 of 78 layers.
  ModelSpec glm = latent(78, 1);
  glm.layer_groups = {{.layers = 78, .attention = AttentionKind::latent, .indexer = Indexer{.layers = 21}}};
  EXPECT_DOUBLE_EQ(glm.kv_bytes_per_token(), 44'928 + 2'772);
}

TEST(StateSizes, OfSlidingLayersStopGrowingAtTheWindow) {
  // gpt-oss-120b: 18 full and 18 sliding layers of 8 heads of 64; 20b: 12 and 12.
  const ModelSpec gpt_oss = model_of({full(18, 8, 64), sliding(18, 128, 8, 64)});
  EXPECT_EQ(gpt_oss.kv_bytes_per_token(), 36'864);
  EXPECT_EQ(gpt_oss.window_bytes(1), 36'864);
  EXPECT_EQ(gpt_oss.window_bytes(127), 127 * 36'864);
  EXPECT_EQ(gpt_oss.window_bytes(128), 4'718'592);  // 4.72 MB
  EXPECT_EQ(gpt_oss.window_bytes(100'000), 4'718'592);
  EXPECT_EQ(gpt_oss.context_bytes(1'000), 36'864'000 + 4'718'592);
  const ModelSpec small = model_of({full(12, 8, 64), sliding(12, 128, 8, 64)});
  EXPECT_EQ(small.kv_bytes_per_token(), 24'576);
  EXPECT_EQ(small.window_bytes(5'000), 3'145'728);

  const ModelSpec gemma3 = model_of({full(10, 16, 128), sliding(52, 1024, 16, 128)});  // 27B
  EXPECT_EQ(gemma3.kv_bytes_per_token(), 81'920);
  EXPECT_EQ(gemma3.window_bytes(5'000), 416 * kMiB);

  const ModelSpec step = model_of({full(12, 8, 128), sliding(33, 512, 8, 128)});  // Step-3.7-Flash
  EXPECT_EQ(step.kv_bytes_per_token(), 49'152);
  EXPECT_EQ(step.window_bytes(5'000), 66 * kMiB);
}

TEST(StateSizes, OfGemma4AreThoseOfTwoShapesOfHeads) {
  // 26B-A4B: 5 full layers of 2 heads of 512, 25 sliding ones of 8 heads of 256.
  ModelSpec gemma4 = model_of({full(5, 2, 512), sliding(25, 1024, 8, 256)});
  EXPECT_EQ(gemma4.kv_bytes_per_token(), 20'480);
  EXPECT_EQ(gemma4.window_bytes(1'024), 200 * kMiB);
  gemma4.layer_groups[0].keys_are_values = true;
  EXPECT_EQ(gemma4.kv_bytes_per_token(), 10'240);
}

TEST(StateSizes, OfKeysAndValuesOfDifferentWidthAreBoth) {
  // MiMo-V2-Flash: keys of 192, values of 128; 9 full layers of 4 heads, 39 sliding ones of 8.
  ModelSpec mimo = model_of({full(9, 4, 192), sliding(39, 128, 8, 192)});
  for (LayerGroup& group : mimo.layer_groups) group.value_head_dim = 128;
  EXPECT_EQ(mimo.kv_bytes_per_token(), 23'040);                 // 9 * 4 * 320 * 2
  EXPECT_EQ(mimo.window_bytes(128), 39.0 * 128 * 8 * 320 * 2);  // 25,559,040
  EXPECT_NEAR(mimo.window_bytes(128) / kMiB, 24.4, 0.05);
}

TEST(StateSizes, OfChunkedLayersStartAgainAtEachChunk) {
  // Llama-4: 12 full and 36 chunked layers of 8 heads of 128.
  const ModelSpec llama4 = model_of({full(12, 8, 128), windowed(AttentionKind::chunked, 36, 8192, 8, 128)});
  EXPECT_EQ(llama4.kv_bytes_per_token(), 49'152);
  EXPECT_EQ(llama4.window_bytes(0), 0);
  EXPECT_EQ(llama4.window_bytes(8'192), 1'152 * kMiB);  // 1.125 GiB
  EXPECT_EQ(llama4.window_bytes(8'193), 147'456);       // one token of the next chunk
}

TEST(StateSizes, OfRecurrentLayersDoNotGrow) {
  // Qwen3-Next-80B: 12 full layers of 2 heads of 256; 36 layers of 32 value and 16 key heads:
  // 32 * 128 * 128 * 2 + (2 * 16 * 128 + 32 * 128) * 3 * 2 = 1 MiB + 48 KiB.
  const ModelSpec next = model_of({full(12, 2, 256), recurrent(36, delta_rule(32, 16, 2))});
  EXPECT_EQ(next.kv_bytes_per_token(), 24'576);
  EXPECT_EQ(delta_rule(32, 16, 2).bytes(), 1'048'576 + 49'152);
  EXPECT_EQ(next.recurrent_state_bytes(), 36.0 * 1'097'728);
  EXPECT_NEAR(next.recurrent_state_bytes() / kMiB, 37.7, 0.05);
  EXPECT_EQ(next.context_bytes(10), 10 * 24'576 + 36.0 * 1'097'728);
  EXPECT_TRUE(next.is_recurrent());
  EXPECT_FALSE(dense(1, 1).is_recurrent());
  // So many tokens of its own KV weigh as much as one checkpoint.
  EXPECT_EQ(static_cast<int64_t>(next.recurrent_state_bytes() / next.kv_bytes_per_token()), 1'608);
}

struct Hybrid {
  const char* name;
  ModelSpec model;
  double kv_bytes_per_token;
  double state_mib;  // as published, to a decimal
};

TEST(StateSizes, OfHybridsAgreeWithWhatIsPublished) {
  ModelSpec kimi_k3 =
      model_of({{.layers = 24, .attention = AttentionKind::latent}, recurrent(69, delta_rule(96, 96))});
  kimi_k3.latent = LatentAttention{.kv_lora_rank = 512, .qk_rope_head_dim = 64};
  ModelSpec kimi_linear =
      model_of({{.layers = 7, .attention = AttentionKind::latent}, recurrent(20, delta_rule(32, 32))});
  kimi_linear.latent = kimi_k3.latent;
  const RecurrentState mamba1 = {
      .heads = 1, .head_dim = 8192, .state_size = 16, .dt_rank = 256, .state_bytes_per_element = 2};
  const Hybrid hybrids[] = {
      {"Qwen3.5-27B", model_of({full(16, 4, 256), recurrent(48, delta_rule(48, 16))}), 65'536, 146.8},
      {"Qwen3.5-35B-A3B", model_of({full(10, 2, 256), recurrent(30, delta_rule(32, 16))}), 20'480, 61.4},
      {"Qwen3.5-397B", model_of({full(15, 2, 256), recurrent(45, delta_rule(64, 16))}), 30'720, 183.2},
      {"Nemotron-3-Nano", model_of({full(6, 2, 128), recurrent(23, mamba2(64, 64, 128))}), 6'144, 46.8},
      {"Nemotron-3-Super", model_of({full(8, 2, 128), recurrent(40, mamba2(128, 64, 128))}), 8'192, 162.3},
      {"Nemotron-3-Ultra", model_of({full(12, 2, 128), recurrent(48, mamba2(256, 64, 128))}), 12'288, 389.1},
      {"Nemotron-H-56B", model_of({full(10, 8, 128), recurrent(54, mamba2(256, 64, 256))}), 40'960, 870.3},
      {"Kimi-K3", kimi_k3, 27'648, 428.6},
      {"Kimi-Linear-48B", kimi_linear, 8'064, 41.4},
      {"Jamba", model_of({full(4, 8, 128), recurrent(28, mamba1)}), 16'384, 8.3},
  };
  for (const Hybrid& hybrid : hybrids) {
    EXPECT_EQ(hybrid.model.kv_bytes_per_token(), hybrid.kv_bytes_per_token) << hybrid.name;
    EXPECT_NEAR(hybrid.model.recurrent_state_bytes() / kMiB, hybrid.state_mib, 0.06) << hybrid.name;
  }
  // One checkpoint in tokens of the model's own KV.
  EXPECT_NEAR(hybrids[4].model.recurrent_state_bytes() / 8'192, 20'780, 10);
  EXPECT_NEAR(hybrids[2].model.recurrent_state_bytes() / 30'720, 6'252, 5);
}

}  // namespace
}  // namespace kvcap::state_sizes_test
