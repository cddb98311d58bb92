// Sizes of models against what their publishers state.
#include "spec/model_spec.h"

#include <gtest/gtest.h>

namespace kvcap::model_spec_test {
namespace {

ModelSpec llama(int64_t layers, int64_t hidden, int64_t heads, int64_t kv_heads, int64_t intermediate,
                int64_t vocab) {
  ModelSpec model;
  model.num_hidden_layers = layers;
  model.hidden_size = hidden;
  model.num_attention_heads = heads;
  model.num_key_value_heads = kv_heads;
  model.head_dim = hidden / heads;
  model.intermediate_size = intermediate;
  model.vocab_size = vocab;
  model.max_position_embeddings = 4096;
  return model;
}

// config.json of deepseek-ai/DeepSeek-V2.
ModelSpec deepseek_v2() {
  ModelSpec model = llama(60, 5120, 128, 128, 12288, 102400);
  model.latent = LatentAttention{.kv_lora_rank = 512, .q_lora_rank = 1536};
  model.experts =
      Experts{.count = 160, .active = 6, .shared = 2, .intermediate_size = 1536, .dense_layers = 1};
  return model;
}

TEST(ModelSpec, CountsTheParametersOfLlamaExactly) {
  // Parameter counts of the checkpoints' safetensors indices.
  EXPECT_DOUBLE_EQ(llama(32, 4096, 32, 32, 11008, 32000).parameter_count(), 6'738'415'616.0);
  EXPECT_DOUBLE_EQ(llama(40, 5120, 40, 40, 13824, 32000).parameter_count(), 13'015'864'320.0);
  EXPECT_DOUBLE_EQ(llama(80, 8192, 64, 8, 28672, 32000).parameter_count(), 68'976'648'192.0);
  EXPECT_DOUBLE_EQ(llama(32, 4096, 32, 8, 14336, 128256).parameter_count(), 8'030'261'248.0);
}

TEST(ModelSpec, CountsEveryExpertAndTheRouter) {
  // Mixtral-8x7B: 8 experts in each of 32 layers.
  ModelSpec mixtral = llama(32, 4096, 32, 8, 14336, 32000);
  mixtral.experts = Experts{.count = 8, .active = 2, .intermediate_size = 14336};
  EXPECT_DOUBLE_EQ(mixtral.parameter_count(), 46'702'792'704.0);
}

TEST(ModelSpec, CountsLatentAttentionAndSharedExperts) {
  EXPECT_DOUBLE_EQ(deepseek_v2().parameter_count(), 235'741'434'880.0);
}

TEST(ModelSpec, ProjectsQueriesDirectlyWithoutAQueryRank) {
  // DeepSeek-V2-Lite: 15.7 B parameters, q_lora_rank null.
  ModelSpec lite = llama(27, 2048, 16, 16, 10944, 102400);
  lite.latent = LatentAttention{.kv_lora_rank = 512, .q_lora_rank = 0};
  lite.experts = Experts{.count = 64, .active = 6, .shared = 2, .intermediate_size = 1408, .dense_layers = 1};
  EXPECT_DOUBLE_EQ(lite.parameter_count(), 15'706'484'224.0);
}

TEST(ModelSpec, CountsPlainFfnsTiedEmbeddingsAndLearnedPositions) {
  // OPT-30B: 12 L D^2 = 12 * 48 * 7168^2 = 29.60e9, embeddings 50272 * 7168, positions 2048 * 7168, norms
  // 97 * 7168. Biases are left out: 0.02 % here.
  ModelSpec opt = llama(48, 7168, 56, 56, 4 * 7168, 50272);
  opt.ffn = FfnKind::plain;
  opt.position_encoding = PositionEncoding::absolute;
  opt.max_position_embeddings = 2048;
  opt.tie_word_embeddings = true;
  const double expected = 12.0 * 48 * 7168 * 7168 + (50272.0 + 2048 + 97) * 7168;
  EXPECT_DOUBLE_EQ(opt.parameter_count(), expected);
  EXPECT_NEAR(opt.parameter_count(), 29.97e9, 0.01e9);
}

TEST(ModelSpec, HoldsKeysAndValuesOfEveryKvHead) {
  const ModelSpec model = llama(32, 4096, 32, 32, 11008, 32000);
  EXPECT_EQ(model.kv_elements_per_token_layer(), 2 * 32 * 128);
  EXPECT_DOUBLE_EQ(model.kv_bytes_per_token(), 524288);  // 32 layers * 8192 elements * 2 B
  EXPECT_DOUBLE_EQ(model.hidden_bytes_per_token_layer(), 8192);
  EXPECT_DOUBLE_EQ(model.weight_bytes(), 2 * 6'738'415'616.0);
}

TEST(ModelSpec, GivesTheKvBytesThatCachedAttentionPrints) {
  // CachedAttention 4.2: 0.78, 2.5 and 0.31 MB (of 2^20 bytes) per token for LLaMA-13B, 65B and 70B.
  const double mb = 1024 * 1024;
  EXPECT_NEAR(llama(40, 5120, 40, 40, 13824, 32000).kv_bytes_per_token() / mb, 0.78, 0.005);
  EXPECT_NEAR(llama(80, 8192, 64, 64, 22016, 32000).kv_bytes_per_token() / mb, 2.5, 0.05);
  EXPECT_NEAR(llama(80, 8192, 64, 8, 28672, 32000).kv_bytes_per_token() / mb, 0.31, 0.005);
}

TEST(ModelSpec, HoldsOneLatentAndOneRotaryKeyUnderLatentAttention) {
  EXPECT_EQ(deepseek_v2().kv_elements_per_token_layer(), 512 + 64);
  EXPECT_DOUBLE_EQ(deepseek_v2().kv_bytes_per_token(), 60 * 576 * 2);
}

TEST(ModelSpec, TakesEachElementSizeWhereItBelongs) {
  ModelSpec model = llama(32, 4096, 32, 8, 14336, 128256);
  model.weight_bytes_per_element = 1;
  model.kv_bytes_per_element = 0.5;
  EXPECT_DOUBLE_EQ(model.weight_bytes(), 8'030'261'248.0);
  EXPECT_DOUBLE_EQ(model.kv_bytes_per_token_layer(), 2048 * 0.5);
  EXPECT_DOUBLE_EQ(model.hidden_bytes_per_token_layer(), 8192);
  // Embedding and output projection, 128,256 x 4096 each, keep 16 bits: one byte more for each of them.
  model.embedding_bytes_per_element = 2;
  EXPECT_DOUBLE_EQ(model.weight_bytes(), 8'030'261'248.0 + 2 * 128'256.0 * 4096);
  EXPECT_EQ(model.gemm_input_bytes_per_element(), 2);
  model.activation_bytes_per_element = 1;
  EXPECT_EQ(model.gemm_input_bytes_per_element(), 1);
}

}  // namespace
}  // namespace kvcap::model_spec_test
