// The blocks of hybrid models on the GPUs of a group, as vLLM makes them.
#include "cost/kv_layers.h"

#include <gtest/gtest.h>

#include "scenario/load.h"

namespace kvcap::kv_layers_test {
namespace {

ModelSpec config(const std::string& name) {
  return load_model(KVCAP_SOURCE_DIR "/tests/data/configs/" + name + ".json");
}

TEST(KvLayersOfModels, GiveGptOssTwoGroupsOfHalfItsLayers) {
  const KvLayout layout = kv_layout_of(config("gpt-oss-120b"), 1, 16);
  ASSERT_EQ(layout.groups.size(), 2U);
  EXPECT_EQ(layout.group_layers, 18);
  EXPECT_EQ(layout.page_bytes, 16 * 2 * 8 * 64 * 2);
  // 8 KV heads on 2 GPUs are 4, on 16 one each.
  EXPECT_EQ(kv_layout_of(config("gpt-oss-120b"), 2, 16).page_bytes, 16 * 2 * 4 * 64 * 2);
  EXPECT_EQ(kv_layout_of(config("gpt-oss-120b"), 16, 16).page_bytes, 16 * 2 * 1 * 64 * 2);
}

TEST(KvLayersOfModels, CutGemmasSlidingLayersIntoGroupsOfItsFullOnes) {
  // 10 full layers, and 52 sliding ones in 6 groups, of which the last is padded.
  const KvLayout layout = kv_layout_of(config("gemma-3-27b"), 1, 16);
  EXPECT_EQ(layout.groups.size(), 7U);
  EXPECT_EQ(layout.group_layers, 10);
}

TEST(KvLayersOfModels, EnlargeBlocksUntilTheyHoldAState) {
  // Qwen3-Next-80B: 1,097,728 bytes at 2,048 a token: 536 tokens, rounded up to 16, as vLLM 0.10.2 logs on
  // two H200.
  const KvLayout next = kv_layout_of(config("qwen3-next-80b-a3b"), 1, 16);
  EXPECT_EQ(next.groups[0].block_tokens, 544);
  EXPECT_EQ(next.groups.size(), 4U);  // 12 layers each: one group of full ones, three of recurrent ones
  EXPECT_EQ(next.group_layers, 12);
  // On 2 GPUs half a state and one of two heads; on 4 a quarter of a state and the same head again.
  EXPECT_EQ(kv_layout_of(config("qwen3-next-80b-a3b"), 2, 16).groups[0].block_tokens, 544);
  EXPECT_EQ(kv_layout_of(config("qwen3-next-80b-a3b"), 4, 16).groups[0].block_tokens, 272);
}

// vLLM keeps a state in the model's format unless the config.json names another. Granite-4.0-H-Small: (128 x
// 64 x 128 + 8,448 x 3) x 2 bytes at 4,096 a token are 524.4 tokens, and 528 with Gaudi's plugin (vllm-gaudi
// pull 1453). Granite-4.0-H-1B, whose layers are those of Tiny: 400 tokens, 1.59 % of padding in its log.
TEST(KvLayersOfModels, HoldAStateInTheFormatOfItsCheckpoint) {
  const auto block = [](const ModelSpec& model) { return kv_layout_of(model, 1, 16).groups[0].block_tokens; };
  EXPECT_EQ(block(config("granite-4.0-h-small")), 528);
  EXPECT_EQ(block(load_model("granite-4.0-h-small")), 528);
  const ModelSpec tiny = load_model("granite-4.0-h-tiny");
  EXPECT_EQ(block(tiny), 400);
  EXPECT_NEAR(kv_layout_of(tiny, 1, 16).page_bytes / kv_layers(tiny, 1)[1].state_bytes, 1.0159, 5e-5);
  // Its config.json has mamba_ssm_dtype float32.
  EXPECT_EQ(block(config("qwen3.5-27b")), 784);
  EXPECT_EQ(block(load_model("qwen3.5-27b")), 784);
  // Nemotron-H without a format in its config.json (vllm pull 39032), and Kimi's delta attention.
  for (const char* name : {"nemotron-3-nano-30b-a3b", "kimi-linear-48b-a3b", "nvidia-nemotron-nano-9b-v2"}) {
    EXPECT_EQ(load_model(name).layer_groups[1].recurrent->state_bytes_per_element, 4) << name;
  }
  EXPECT_EQ(config("kimi-linear-48b-a3b").layer_groups[1].recurrent->state_bytes_per_element, 4);
  for (const char* name :
       {"jamba-v0.1", "ai21-jamba-mini-1.6", "falcon-h1-7b", "granite-4.0-h-micro", "qwen3-next-80b-a3b",
        "qwen3-next-80b-a3b-fp8", "qwen3-coder-next", "minimax-m1-80k"}) {
    EXPECT_EQ(load_model(name).layer_groups[1].recurrent->state_bytes_per_element, 2) << name;
  }
}

TEST(KvLayersOfModels, KeepALatentOnEveryGpu) {
  const ModelSpec v3 = config("deepseek-v3");
  EXPECT_EQ(kv_layers(v3, 8)[0].bytes_per_token, 576 * 2);
  EXPECT_EQ(kv_layers(config("deepseek-v3.2"), 8)[0].bytes_per_token, 576 * 2 + 132);
  EXPECT_TRUE(kv_layout_of(v3, 1, 16).is_plain());
}

}  // namespace
}  // namespace kvcap::kv_layers_test
