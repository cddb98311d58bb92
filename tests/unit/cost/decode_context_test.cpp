// Decode context parallelism: GPUs with copies of the same KV hold parts of its tokens instead.
#include <gtest/gtest.h>

#include "cost/cost_model.h"
#include "cost/gpu_memory.h"
#include "cost/kv_layers.h"
#include "unit/cost_examples.h"

namespace kvcap::decode_context_test {
namespace {

// A machine whose collectives take 10 us and 1 ns a byte of the buffer, over 2, 4 or 8 GPUs.
HardwareProfile gathering_machine() {
  HardwareProfile hardware = machine();
  hardware.gpu.count = 8;
  hardware.nvlink = Nvlink{300e9, 0};
  hardware.collectives = Collectives{};
  for (const int64_t gpus : {2, 4, 8}) {
    const double each = static_cast<double>(gpus - 1) / static_cast<double>(gpus);
    for (auto* points : {&hardware.collectives->all_reduce, &hardware.collectives->all_gather}) {
      points->push_back({gpus, 1e9, each});
    }
  }
  return hardware;
}

ModelSpec grouped() {
  ModelSpec model = llama_2_7b();
  model.num_key_value_heads = 2;  // 16 query heads each
  return model;
}

CostModel cost(const ModelSpec& model, int64_t parts) { return {model, gathering_machine(), 8, {}, parts}; }

TEST(DecodeContext, HoldsPartsOfTheTokensInBlocksOfAllGpus) {
  const ModelSpec model = grouped();
  EXPECT_EQ(kv_layers(model, 8)[0].bytes_per_token, 2 * 128 * 2);
  EXPECT_EQ(kv_layers(model, 8, 4)[0].bytes_per_token, 2 * 128 * 2 / 4);
  const KvLayout whole = kv_layout_of(model, 8, 16), parts = kv_layout_of(model, 8, 16, 4);
  EXPECT_EQ(parts.page_bytes, whole.page_bytes);
  EXPECT_EQ(parts.hit_tokens(), 64);
  EXPECT_EQ(parts.tokens_of(100), 4 * whole.tokens_of(100));
}

TEST(DecodeContext, MultipliesTheKvCapacity) {
  HardwareProfile large = gathering_machine();
  large.gpu.memory_bytes = 141e9;
  EngineSettings settings = {.tensor_parallel_size = 8};
  const GpuMemory whole = gpu_memory(deepseek_v2(), large, settings);
  settings.decode_context_parallel_size = 8;
  const GpuMemory parts = gpu_memory(deepseek_v2(), large, settings);
  EXPECT_EQ(parts.blocks, whole.blocks);
  EXPECT_EQ(parts.tokens, 8 * whole.tokens);
  EXPECT_GT(parts.tokens, 0);
}

// Each of 4 GPUs reads a quarter of the context, with the queries of all.
TEST(DecodeContext, ReadsItsPartOfTheContext) {
  const double whole_s = cost(grouped(), 1).decode_attention_layer_s(8).per_context_token_s;
  const double part_s = cost(grouped(), 4).decode_attention_layer_s(8).per_context_token_s;
  EXPECT_DOUBLE_EQ(part_s, whole_s / 4);
  // All heads share a latent: its flops, which are not divided, may exceed its bytes, which are.
  const double latent_s = cost(deepseek_v2(), 1).decode_attention_layer_s(8).per_context_token_s;
  EXPECT_LT(cost(deepseek_v2(), 8).decode_attention_layer_s(8).per_context_token_s, latent_s);
  EXPECT_GE(cost(deepseek_v2(), 8).decode_attention_layer_s(8).per_context_token_s, latent_s / 8);
}

// Queries and outputs of 16 heads of 128 elements on 4 GPUs, 2 bytes each, and the sums of 4 GPUs, 4 bytes
// each.
TEST(DecodeContext, GathersQueriesAndScattersOutputs) {
  const CostModel whole = cost(grouped(), 1), parts = cost(grouped(), 4);
  const CostModel of_four(grouped(), gathering_machine(), 4);
  const double rows = 8, heads = rows * 4 * 4;
  const double gathers_s = 2 * of_four.all_gather_s(heads * 128 * 2) + of_four.all_gather_s(heads * 4 * 4);
  EXPECT_NEAR(parts.decode_attention_layer_s(8).fixed_s - whole.decode_attention_layer_s(8).fixed_s,
              gathers_s, 1e-12);
  EXPECT_NEAR(parts.attention_layer_s(PrefillChunk{8, 100}) - whole.attention_layer_s(PrefillChunk{8, 100}),
              gathers_s, 1e-12);
  // Rows of a step with prompts: 8 of the prompt and 8 that decode.
  const PrefillChunk chunk{8, 100};
  const double mixed_s = parts.mixed_attention_layer_s({&chunk, 1}, 8, 8000) -
                         whole.mixed_attention_layer_s({&chunk, 1}, 8, 8000);
  EXPECT_NEAR(mixed_s, 2 * of_four.all_gather_s(2 * heads * 128 * 2) + of_four.all_gather_s(2 * heads * 16),
              1e-5);
}

// 576 elements of 2 bytes for each cached token; the prompt's own latents are on every GPU.
TEST(DecodeContext, GathersTheLatentsOfACachedPrefix) {
  const CostModel whole = cost(deepseek_v2(), 1), parts = cost(deepseek_v2(), 8);
  const double gather_s = CostModel(deepseek_v2(), gathering_machine(), 8).all_gather_s(5000.0 * 576 * 2);
  EXPECT_NEAR(
      parts.attention_layer_s(PrefillChunk{100, 5000}) - whole.attention_layer_s(PrefillChunk{100, 5000}),
      gather_s, 1e-12);
  EXPECT_EQ(parts.attention_layer_s(PrefillChunk{100, 0}), whole.attention_layer_s(PrefillChunk{100, 0}));
}

}  // namespace
}  // namespace kvcap::decode_context_test
