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
  // Qwen3-Next-80B: 2,146,304 bytes at 2,048 a token: 1,048 tokens, rounded up to 16.
  const KvLayout next = kv_layout_of(config("qwen3-next-80b-a3b"), 1, 16);
  EXPECT_EQ(next.groups[0].block_tokens, 1'056);
  EXPECT_EQ(next.groups.size(), 4U);  // 12 layers each: one group of full ones, three of recurrent ones
  EXPECT_EQ(next.group_layers, 12);
  // On 2 GPUs half a state and one of two heads; on 4 a quarter of a state and the same head again.
  EXPECT_EQ(kv_layout_of(config("qwen3-next-80b-a3b"), 2, 16).groups[0].block_tokens, 1'056);
  EXPECT_EQ(kv_layout_of(config("qwen3-next-80b-a3b"), 4, 16).groups[0].block_tokens, 528);
}

TEST(KvLayersOfModels, KeepALatentOnEveryGpu) {
  const ModelSpec v3 = config("deepseek-v3");
  EXPECT_EQ(kv_layers(v3, 8)[0].bytes_per_token, 576 * 2);
  EXPECT_EQ(kv_layers(config("deepseek-v3.2"), 8)[0].bytes_per_token, 576 * 2 + 132);
  EXPECT_TRUE(kv_layout_of(v3, 1, 16).is_plain());
}

}  // namespace
}  // namespace kvcap::kv_layers_test
