// Groups of layers that share one pool of blocks: how layers are cut into groups, the tokens of their blocks,
// and which blocks a sequence needs.
#include "spec/kv_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace kvcap::kv_groups_test {
namespace {

KvLayers full(int64_t layers, double bytes) {
  return {.rule = KvRule::all, .layers = layers, .bytes_per_token = bytes};
}
KvLayers sliding(int64_t layers, int64_t window, double bytes) {
  return {.rule = KvRule::window, .layers = layers, .tokens = window, .bytes_per_token = bytes};
}
KvLayers recurrent(int64_t layers, double state_bytes) {
  return {.rule = KvRule::checkpoint, .layers = layers, .state_bytes = state_bytes};
}

KvLayout layout(const std::vector<KvLayers>& kinds, int64_t block_tokens = 16) {
  return kv_layout(kinds, block_tokens);
}

int64_t count(const KvLayout& layout, KvRule rule) {
  return std::count_if(layout.groups.begin(), layout.groups.end(),
                       [rule](const KvGroup& group) { return group.rule == rule; });
}

TEST(KvGroups, LayersOfOneKindAreOneGroup) {
  const KvLayout one = layout({full(32, 4096)});
  ASSERT_TRUE(one.is_plain());
  EXPECT_EQ(one.groups[0].block_tokens, 16);
  EXPECT_EQ(one.group_layers, 32);
  EXPECT_EQ(one.block_bytes(), 32 * 16 * 4096);
  // Layers of several sizes that keep the same tokens need no groups of their own: 3 x 656 + 2 x 1312.
  EXPECT_EQ(layout({full(3, 656), full(2, 1312)}).block_bytes(), 16 * (3 * 656 + 2 * 1312));
  EXPECT_FALSE(layout({sliding(32, 4096, 4096)}).is_plain());
}

// gpt-oss-120b: 18 full and 18 sliding layers, 8 KV heads of 64 elements: 2 groups of 18 layers.
TEST(KvGroups, AsManyFullAsSlidingLayersAreTwoGroups) {
  const KvLayout two = layout({full(18, 2048), sliding(18, 128, 2048)});
  ASSERT_EQ(two.groups.size(), 2U);
  EXPECT_EQ(two.groups[1].tokens, 128);
  EXPECT_EQ(two.block_bytes(), 18 * 16 * 2048);
  EXPECT_EQ(two.hit_tokens(), 16);
}

// Gemma-3-27B: 10 full layers and 52 sliding ones: groups of 10 layers, of which ceil(52 / 10) = 6 slide.
TEST(KvGroups, TheFewerLayersSayHowLargeAGroupIs) {
  const KvLayout seven = layout({full(10, 8192), sliding(52, 1024, 8192)});
  EXPECT_EQ(count(seven, KvRule::all), 1);
  EXPECT_EQ(count(seven, KvRule::window), 6);
  EXPECT_EQ(seven.group_layers, 10);
}

// The log of a server with vLLM 0.17 (a model of 40 layers, 10 of them full attention with 2 KV heads of 256
// elements in 1 byte, 30 with a state of 2,146,304 bytes): "Setting attention block size to 2096 tokens",
// "GPU KV cache size: 159,296 tokens", "Maximum concurrency for 65,536 tokens per request: 8.00x", of 6.08
// GiB.
//   2,146,304 / 1,024 = 2,096 tokens; 6.08 GiB / (10 x 2,146,304) = 304 blocks; 304 / 4 x 2,096 = 159,296;
//   a request holds 32 blocks of the full group and 2 of each other: 304 / 38 = 8.00.
TEST(KvGroups, SayWhatAStartUpLogSays) {
  const KvLayout four = layout({full(10, 1024), recurrent(30, 2'146'304)});
  ASSERT_EQ(four.groups.size(), 4U);
  EXPECT_EQ(four.block_tokens(), 2096);
  const auto blocks = static_cast<int64_t>(6.08 * 1024 * 1024 * 1024 / four.block_bytes());
  EXPECT_EQ(blocks, 304);
  EXPECT_EQ(four.tokens_of(blocks), 159'296);
  EXPECT_EQ(four.blocks_of(159'296), 304);
  EXPECT_EQ(four.most_blocks(65'536, 2048, Checkpoints::align), 38);
}

// A window of 128 tokens and a step of 2,048 in blocks of 16: 2,175 / 16 = 136, and one since it begins
// anywhere. A state: one where nothing is cached, two with the last checkpoint, or as many as a step passes.
TEST(KvGroups, ASequenceHoldsAtMostItsWindowAndAStep) {
  const KvGroup window{.rule = KvRule::window, .tokens = 128, .block_tokens = 16};
  EXPECT_EQ(window.most_blocks(1'000'000, 2048, Checkpoints::align), 137);
  EXPECT_EQ(window.most_blocks(100, 2048, Checkpoints::align), 7);
  const KvGroup state{.rule = KvRule::checkpoint, .block_tokens = 528};
  EXPECT_EQ(state.most_blocks(1'000'000, 2048, Checkpoints::none), 1);
  EXPECT_EQ(state.most_blocks(1'000'000, 2048, Checkpoints::align), 2);
  EXPECT_EQ(state.most_blocks(528, 2048, Checkpoints::align), 1);
  EXPECT_EQ(state.most_blocks(1'000'000, 2048, Checkpoints::all), 5);  // ceil(2,049 / 528) + 1
}

// Where layers have blocks of 32 and 16 tokens the smaller ones count: 70 blocks, 10 for each of 7 groups.
TEST(KvGroups, ACapacityInTokensCountsTheSmallestBlocks) {
  const KvLayout seven = layout({full(5, 4096), sliding(30, 1024, 8192)});
  EXPECT_EQ(seven.block_tokens(), 16);
  EXPECT_EQ(seven.tokens_of(76), 160);
  EXPECT_EQ(seven.blocks_of(175), 70);
}

// 4 and 5 layers: 5 is not less than 1.25 x 4, so groups of 4, two of them for the 5 layers. 5 and 6: 6 is
// less than 6.25, so groups of 6, and one layer of padding.
TEST(KvGroups, ALittlePaddingIsBetterThanOneGroupMore) {
  const KvLayout three = layout({full(4, 1024), sliding(5, 128, 1024)});
  EXPECT_EQ(three.groups.size(), 3U);
  EXPECT_EQ(three.group_layers, 4);
  const KvLayout two = layout({full(5, 1024), sliding(6, 128, 1024)});
  EXPECT_EQ(two.groups.size(), 2U);
  EXPECT_EQ(two.group_layers, 6);
}

// Gemma-4: a full layer takes 4,096 bytes for a token and a sliding one 8,192: pages of 16 x 8,192 bytes, so
// that a block has 32 tokens in full layers and 16 in sliding ones.
TEST(KvGroups, ABlockHasMoreTokensWhereATokenHasFewerBytes) {
  const KvLayout six = layout({full(5, 4096), sliding(25, 1024, 8192)});
  ASSERT_EQ(six.groups.size(), 6U);
  EXPECT_EQ(six.groups[0].block_tokens, 32);
  EXPECT_EQ(six.groups[1].block_tokens, 16);
  EXPECT_EQ(six.page_bytes, 16 * 8192);
  EXPECT_EQ(six.unit_tokens, 16);
  EXPECT_EQ(six.hit_tokens(), 32);
}

// A page has to hold the state of a layer: Qwen3.5-4B 2,146,304 / (16 x 4,096) = 32.75 -> 33 x 16 = 528.
TEST(KvGroups, BlocksGrowUntilAPageHoldsAState) {
  const KvLayout small = layout({full(8, 4096), recurrent(24, 2146304)});
  EXPECT_EQ(small.groups.size(), 4U);
  EXPECT_EQ(count(small, KvRule::checkpoint), 3);
  EXPECT_EQ(small.hit_tokens(), 528);
  EXPECT_EQ(small.page_bytes, 528 * 4096);
  // Qwen3-Next-80B: 1 MiB + 48 KiB of state, 2,048 bytes for a token: 33.5 steps of 16 tokens -> 544.
  EXPECT_EQ(layout({full(12, 2048), recurrent(36, (1024 + 48) * 1024)}).hit_tokens(), 544);
  // Blocks that are large enough stay; the states take a page each.
  const KvLayout large = layout({full(8, 4096), recurrent(24, 2146304)}, 1024);
  EXPECT_EQ(large.hit_tokens(), 1024);
  EXPECT_EQ(large.page_bytes, 1024 * 4096);
}

TEST(KvGroups, AGroupNeedsTheBlocksThatItsRuleNames) {
  const KvGroup all{KvRule::all, 0, 4}, window{KvRule::window, 6, 4}, chunk{KvRule::chunk, 8, 4},
      state{KvRule::checkpoint, 0, 4};
  EXPECT_EQ(all.unneeded_blocks(100), 0);
  // Token 9 sees the tokens 4 to 9: with 9 computed, block 0 is unneeded.
  EXPECT_EQ(window.unneeded_blocks(8), 0);
  EXPECT_EQ(window.unneeded_blocks(9), 1);
  EXPECT_EQ(window.unneeded_blocks(3), 0);
  EXPECT_EQ(chunk.unneeded_blocks(7), 0);
  EXPECT_EQ(chunk.unneeded_blocks(8), 2);
  EXPECT_EQ(chunk.unneeded_blocks(15), 2);
  // The state after 8 tokens stands in block 1.
  EXPECT_EQ(state.unneeded_blocks(8), 1);
  EXPECT_EQ(state.unneeded_blocks(9), 2);
  EXPECT_EQ(state.unneeded_blocks(0), 0);
}

}  // namespace
}  // namespace kvcap::kv_groups_test
