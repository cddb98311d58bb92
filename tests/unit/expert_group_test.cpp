// Experts that several GPUs share: their load, their weights, and what a layer of them takes.
#include <gtest/gtest.h>

#include <cmath>

#include "cost/cost_model.h"
#include "cost/expert_load.h"
#include "cost/gpu_memory.h"
#include "cost/layer_shapes.h"
#include "laws/machines.h"

namespace kvcap {
namespace {

// 8 layers of 64 experts, 4 for a token.
ModelSpec model() {
  ModelSpec model = laws::llama_3_8b();
  model.num_hidden_layers = 8;
  model.experts = Experts{.count = 64, .active = 4, .intermediate_size = 1024};
  return model;
}

HardwareProfile eight_gpus() {
  HardwareProfile hardware = laws::a100();
  hardware.gpu.count = 8;
  hardware.nvlink = Nvlink{.bandwidth_bytes_per_s = 300e9, .latency_s = 5e-6};
  return hardware;
}

constexpr ExpertGroup kTwoRanks{.data_parallel_size = 2, .expert_parallel = true, .imbalance = 1};

TEST(ExpertLoad, KnowsTheLargestOfSomeNormalVariates) {
  EXPECT_DOUBLE_EQ(mean_largest_normal(1), 0);
  EXPECT_NEAR(mean_largest_normal(2), 1 / std::sqrt(M_PI), 1e-6);
  EXPECT_NEAR(mean_largest_normal(3), 1.5 / std::sqrt(M_PI), 1e-6);
  EXPECT_NEAR(mean_largest_normal(8), 1.4236, 1e-4);
}

TEST(ExpertLoad, TheBusiestGpuHasMoreThanTheMean) {
  EXPECT_NEAR(ExpertLoad(2).busiest_rows(2048), 1024 + 32 / std::sqrt(M_PI), 1e-4);
  EXPECT_DOUBLE_EQ(ExpertLoad(2, 1.5).busiest_rows(2048), 1536);
  EXPECT_DOUBLE_EQ(ExpertLoad(4, 8).busiest_rows(10), 10);
  EXPECT_LE(ExpertLoad(8).busiest_rows(1), 1);
  EXPECT_DOUBLE_EQ(ExpertLoad(1).busiest_rows(7), 7);
}

// A Monte Carlo of 2,048 rows on 8 GPUs: 256 + 16 x 1.4236 = 278.8.
TEST(ExpertLoad, IsWhatRowsThatChooseAtRandomDo) {
  const RandomStream random(1, "experts");
  constexpr int kDraws = 400;
  double sum = 0;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    std::array<int, 8> rows{};
    for (uint64_t row = 0; row < 2048; ++row) ++rows[static_cast<std::size_t>(8 * random.uniform(draw, row))];
    sum += *std::max_element(rows.begin(), rows.end());
  }
  EXPECT_NEAR(sum / kDraws, ExpertLoad(8).busiest_rows(2048), 3);
}

const LayerKind& expert_kind(const LayerShapes& shapes) { return shapes.kinds.back(); }

// 4,096 rows choose 4 of 64 experts: 256 rows each. Half of the experts whole, or all of them at half width.
TEST(ExpertGroup, AGpuHasWholeExpertsOrSlicesOfAll) {
  const LayerShapes whole = layer_shapes(model(), 1, kTwoRanks);
  const GemmRows half = expert_kind(whole).experts->rows(4096);
  EXPECT_NEAR(half.rows, 256, 1e-9);
  EXPECT_NEAR(half.groups, 32, 1e-9);
  EXPECT_EQ(expert_kind(whole).experts->gemms.front().n, 2 * 1024);
  const LayerShapes slices = layer_shapes(model(), 1, {.data_parallel_size = 2});
  const GemmRows all = expert_kind(slices).experts->rows(4096);
  EXPECT_NEAR(all.rows, 256, 1e-9);
  EXPECT_NEAR(all.groups, 64, 1e-9);
  EXPECT_EQ(expert_kind(slices).experts->gemms.front().n, 2 * 512);
}

// All rows on one of two GPUs reach its 32 experts with twice the rows.
TEST(ExpertGroup, TheBusiestGpuHasNoMoreExpertsThanItsOwn) {
  const LayerShapes shapes =
      layer_shapes(model(), 1, {.data_parallel_size = 2, .expert_parallel = true, .imbalance = 2});
  const GemmRows rows = expert_kind(shapes).experts->rows(4096);
  EXPECT_NEAR(rows.groups, 32, 1e-9);
  EXPECT_NEAR(rows.rows, 512, 1e-9);
}

// Routed: 8 layers x 64 experts x 3 x 4,096 x 1,024 elements of 2 bytes, spread over the ranks; the rest is
// on each of them.
TEST(ExpertGroup, RoutedWeightsAreSpreadOverAllRanks) {
  const double routed = 8 * 64 * 3 * 4096.0 * 1024 * 2;
  const double one = loaded_weight_bytes(model(), 1);
  EXPECT_DOUBLE_EQ(model().routed_expert_bytes(), routed);
  EXPECT_DOUBLE_EQ(one - loaded_weight_bytes(model(), 1, kTwoRanks), routed / 2);
  EXPECT_DOUBLE_EQ(one - loaded_weight_bytes(model(), 1, {.data_parallel_size = 4}), routed * 3 / 4);
  EXPECT_DOUBLE_EQ(loaded_weight_bytes(model(), 2, {.expert_parallel = true}),
                   loaded_weight_bytes(model(), 2));
  const HardwareProfile hardware = eight_gpus();
  const auto capacity = [&](const ExpertGroup& ranks) {
    return derive_kv_capacity(model(), hardware, 1, 0.9, 2048, 16, ranks);
  };
  EXPECT_DOUBLE_EQ(capacity({}).weight_bytes - capacity(kTwoRanks).weight_bytes, routed / 2);
  EXPECT_GT(capacity(kTwoRanks).tokens, capacity({}).tokens);
}

// An all-gather and a reduce-scatter of 200 rows of 8 KiB over two ranks: 2 x (1/2 x 200 x 8,192 / 300 GB/s +
// 5 us). All-to-all: 2 copies of the fullest rank's 150 rows.
TEST(ExpertGroup, ALayerIsItsLocalPartTheExchangeAndTheExperts) {
  const HardwareProfile hardware = eight_gpus();
  const CostModel alone(model(), hardware, 1);
  const CostModel two(model(), hardware, 1, kTwoRanks);
  EXPECT_DOUBLE_EQ(two.linear_layer_s(100), two.local_layer_s(100) + two.routed_layer_s(200, 100));
  EXPECT_DOUBLE_EQ(two.local_layer_s(100), alone.local_layer_s(100));
  EXPECT_NEAR(alone.linear_layer_s(100), alone.local_layer_s(100) + alone.routed_layer_s(100, 100), 1e-15);
  ExpertGroup by_expert = kTwoRanks;
  by_expert.exchange = ExpertExchange::all_to_all;
  const CostModel sent(model(), hardware, 1, by_expert);
  const double gathered_s = 2 * (0.5 * 200 * 8192 / 300e9 + 5e-6);
  const double sent_s = 2 * (0.5 * 2 * 150 * 8192 / 300e9 + 5e-6);
  EXPECT_NEAR(two.routed_layer_s(200, 150) - sent.routed_layer_s(200, 150), gathered_s - sent_s, 1e-12);
  // Twice the rows on half of the experts: the experts take what those of one GPU with as many rows take.
  const double experts_s = two.routed_layer_s(200, 100) - gathered_s;
  EXPECT_GT(experts_s, 0);
  EXPECT_LT(experts_s, alone.routed_layer_s(200, 200));
}

TEST(ExpertGroup, OfAPlainModelOrOneRankNothingChanges) {
  const HardwareProfile hardware = eight_gpus();
  const CostModel plain(model(), hardware, 2), same(model(), hardware, 2, ExpertGroup{});
  EXPECT_EQ(plain.linear_layer_s(77), same.linear_layer_s(77));
  const CostModel dense(laws::llama_3_8b(), hardware, 1),
      ranks(laws::llama_3_8b(), hardware, 1, {.data_parallel_size = 2});
  EXPECT_EQ(dense.linear_layer_s(77), ranks.linear_layer_s(77));
}

}  // namespace
}  // namespace kvcap
