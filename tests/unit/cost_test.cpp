// The cost model against sums done by hand.
#include "cost/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kvcap {
namespace {

constexpr double kPeakFlops = 300e12;
constexpr double kBandwidth = 2e12;

ModelSpec gpt(int64_t hidden, int64_t layers) {
  ModelSpec model;
  model.num_hidden_layers = layers;
  model.hidden_size = hidden;
  model.head_dim = 128;
  model.num_attention_heads = hidden / 128;
  model.num_key_value_heads = hidden / 128;
  model.intermediate_size = 4 * hidden;
  model.vocab_size = 50000;
  model.ffn = FfnKind::plain;
  model.position_encoding = PositionEncoding::absolute;
  return model;
}

ModelSpec llama_2_7b() {
  ModelSpec model = gpt(4096, 32);
  model.intermediate_size = 11008;
  model.vocab_size = 32000;
  model.ffn = FfnKind::gated;
  model.position_encoding = PositionEncoding::rope;
  return model;
}

ModelSpec llama_2_13b() {
  ModelSpec model = llama_2_7b();
  model.num_hidden_layers = 40;
  model.hidden_size = 5120;
  model.num_attention_heads = model.num_key_value_heads = 40;
  model.intermediate_size = 13824;
  return model;
}

ModelSpec deepseek_v2() {
  ModelSpec model = gpt(5120, 60);
  model.num_attention_heads = model.num_key_value_heads = 128;
  model.intermediate_size = 12288;
  model.vocab_size = 102400;
  model.ffn = FfnKind::gated;
  model.position_encoding = PositionEncoding::rope;
  model.latent = LatentAttention{.kv_lora_rank = 512, .q_lora_rank = 1536};
  model.experts =
      Experts{.count = 160, .active = 6, .shared = 2, .intermediate_size = 1536, .dense_layers = 1};
  return model;
}

Efficiency constant(double efficiency) {
  return {.model = EfficiencyModel::constant, .efficiency = efficiency};
}

Efficiency smooth_max(double efficiency, double bandwidth_efficiency, double constant_s) {
  return {.model = EfficiencyModel::smooth_max,
          .efficiency = efficiency,
          .bandwidth_efficiency = bandwidth_efficiency,
          .constant_s = constant_s};
}

Efficiency table() {
  return {.model = EfficiencyModel::table,
          .points = {{1024, 4096, 4096, 160e-6},
                     {256, 4096, 4096, 40e-6},
                     {64, 4096, 4096, 20e-6},
                     {64, 12288, 4096, 50e-6},
                     {256, 12288, 4096, 100e-6}}};
}

HardwareProfile machine(double bandwidth = kBandwidth) {
  HardwareProfile hardware;
  hardware.gpu.count = 8;
  hardware.gpu.peak_flops = kPeakFlops;
  hardware.gpu.memory_bytes = 40.0 * 1024 * 1024 * 1024;
  hardware.gpu.memory_bandwidth_bytes_per_s = bandwidth;
  hardware.gpu.sm_count = 100;
  hardware.gpu.gemm = constant(1);
  hardware.gpu.attention = constant(1);
  hardware.pcie = {25e9, 20e9, 10e-6};
  hardware.nvlink = Nvlink{300e9, 8e-6};
  return hardware;
}

// Memory so fast that only flops count.
HardwareProfile compute_bound_machine() { return machine(1e30); }

// Peak so high that only bytes count.
HardwareProfile memory_bound_machine() {
  HardwareProfile hardware = machine();
  hardware.gpu.peak_flops = 1e30;
  return hardware;
}

double gemm(const Efficiency& efficiency, int64_t m, int64_t n, int64_t k, bool* extrapolated = nullptr) {
  return gemm_s(efficiency, machine().gpu, m, n, k, 2, 2, extrapolated);
}

double per_token_s(const Efficiency& efficiency, int64_t m) {
  return gemm(efficiency, m, 4096, 4096) / static_cast<double>(m);
}

TEST(Gemm, TakesTheLongerOfFlopsAndBytesWithConstantEfficiency) {
  // Large: 2 * 4096^3 flops at half the peak. Small: 16 rows, 2 (4096^2 + 2 * 16 * 4096) bytes.
  EXPECT_DOUBLE_EQ(gemm(constant(0.5), 4096, 4096, 4096), 2 * std::pow(4096, 3) / (kPeakFlops * 0.5));
  EXPECT_DOUBLE_EQ(gemm(constant(0.5), 16, 4096, 4096),
                   2 * (4096.0 * 4096 + 2 * 16 * 4096) / kBandwidth);
}

TEST(Gemm, CountsActivationsAndWeightsInTheirOwnBytes) {
  // Eight-bit weights: 4096^2 * 1 + 2 * 16 * 4096 * 2 bytes.
  EXPECT_DOUBLE_EQ(gemm_s(constant(1), machine().gpu, 16, 4096, 4096, 2, 1),
                   (4096.0 * 4096 + 2 * 16 * 4096 * 2) / kBandwidth);
}

TEST(Gemm, AddsFlopsAndBytesInTheCubicNormWithSmoothMax) {
  const double compute_s = 2.0 * 256 * 4096 * 4096 / (kPeakFlops * 0.8);
  const double memory_s = 2 * (4096.0 * 4096 + 2 * 256 * 4096) / (kBandwidth * 0.7);
  EXPECT_DOUBLE_EQ(gemm(smooth_max(0.8, 0.7, 5e-6), 256, 4096, 4096),
                   std::cbrt(std::pow(compute_s, 3) + std::pow(memory_s, 3)) + 5e-6);
}

TEST(Gemm, IsSlowerPerTokenWhenTheWeightsAreStreamedForFewRows) {
  EXPECT_GT(per_token_s(smooth_max(0.8, 0.7, 5e-6), 16), 3 * per_token_s(smooth_max(0.8, 0.7, 5e-6), 256));
}

TEST(Gemm, ReachesALowerShareOfThePeakWhenNarrow) {
  const Efficiency efficiency = smooth_max(0.8, 0.7, 8e-6);
  const auto flops_per_s = [&](int64_t n) {
    return 2.0 * 256 * static_cast<double>(n) * 4096 / gemm(efficiency, 256, n, 4096);
  };
  EXPECT_LT(flops_per_s(1024), 0.65 * flops_per_s(12288));
}

TEST(GemmTable, ReturnsMeasuredPoints) {
  bool extrapolated = false;
  EXPECT_DOUBLE_EQ(gemm(table(), 256, 4096, 4096, &extrapolated), 40e-6);
  EXPECT_DOUBLE_EQ(gemm(table(), 64, 12288, 4096, &extrapolated), 50e-6);
  EXPECT_FALSE(extrapolated);
}

TEST(GemmTable, InterpolatesInLogSpaceBetweenNeighbours) {
  // 128 and 512 are the geometric means of their neighbours, and so are the times: sqrt(20 * 40), sqrt(40 *
  // 160).
  bool extrapolated = false;
  EXPECT_NEAR(gemm(table(), 128, 4096, 4096, &extrapolated), std::sqrt(20 * 40) * 1e-6, 1e-15);
  EXPECT_NEAR(gemm(table(), 512, 4096, 4096, &extrapolated), 80e-6, 1e-15);
  EXPECT_FALSE(extrapolated);
}

TEST(GemmTable, ScalesByFlopsAboveTheMeasuredRowsAndSaysSo) {
  bool extrapolated = false;
  EXPECT_DOUBLE_EQ(gemm(table(), 4096, 4096, 4096, &extrapolated), 4 * 160e-6);
  EXPECT_TRUE(extrapolated);
}

TEST(GemmTable, HoldsTheTimeBelowTheMeasuredRowsAndSaysSo) {
  bool extrapolated = false;
  EXPECT_DOUBLE_EQ(gemm(table(), 8, 4096, 4096, &extrapolated), 20e-6);
  EXPECT_TRUE(extrapolated);
}

TEST(GemmTable, ScalesAnUnknownShapeFromTheNearestOneAndSaysSo) {
  // (8192, 4096) is nearer to 12288 than to 4096 (1.5x against 2x): 2/3 of 100 us.
  bool extrapolated = false;
  EXPECT_NEAR(gemm(table(), 256, 8192, 4096, &extrapolated), 100e-6 * 2 / 3, 1e-15);
  EXPECT_TRUE(extrapolated);
}

TEST(Attention, CostsFourFlopsPerPairHeadAndDimension) {
  // 512 new over 1536 cached: 512 * 1536 + 512^2 / 2 pairs, 32 heads of 128.
  const double pairs = 512.0 * 1536 + 512.0 * 512 / 2;
  EXPECT_DOUBLE_EQ(
      attention_s(constant(0.5), compute_bound_machine().gpu, {512, 1536}, 32, 8, 128, 2),
      4 * 32 * 128 * pairs / (kPeakFlops * 0.5));
}

TEST(Attention, ReadsQueriesKeysAndValuesAndWritesOutputs) {
  // Q and O: 2 * 512 * 32 * 128; K and V: 2 * 2048 * 8 * 128 elements of 2 bytes.
  EXPECT_DOUBLE_EQ(attention_s(constant(0.5), memory_bound_machine().gpu, {512, 1536}, 32, 8, 128, 2),
                   2 * (2.0 * 512 * 32 * 128 + 2.0 * 2048 * 8 * 128) / kBandwidth);
}

Efficiency wave() {
  return {.model = EfficiencyModel::wave,
          .efficiency = 0.8,
          .bandwidth_efficiency = 0.7,
          .constant_s = 10e-6,
          .block_m = 64};
}

TEST(AttentionWave, RunsWholeWavesOfThreadBlocks) {
  // 32 heads * ceil(200 / 64) = 128 blocks on 100 SMs are two waves; each block: 4 * 64 * 128 * (16384 + 100
  // + 32) flops at 300e12 * 0.8 / 100 flops/s.
  EXPECT_DOUBLE_EQ(attention_s(wave(), machine().gpu, {200, 16384}, 32, 8, 128, 2),
                   2 * 4.0 * 64 * 128 * (16384 + 100 + 32) / (kPeakFlops * 0.8 / 100) + 10e-6);
}

TEST(AttentionWave, TakesAsLongForSixteenQueriesAsForSixtyFourOverALongPrefix) {
  const Gpu gpu = machine().gpu;
  const double few_s = attention_s(wave(), gpu, {16, 16384}, 32, 8, 128, 2);
  const double many_s = attention_s(wave(), gpu, {64, 16384}, 32, 8, 128, 2);
  EXPECT_NEAR(few_s, many_s, 0.005 * many_s);
  EXPECT_GT(few_s, 4 * attention_s(constant(0.8), gpu, {16, 16384}, 32, 8, 128, 2));
}

DecodeAttention decode(const Efficiency& efficiency) {
  HardwareProfile hardware = machine();
  hardware.gpu.attention = efficiency;
  return CostModel(llama_2_7b(), hardware, 1).decode_attention_layer_s(16);
}

TEST(DecodeAttention, IsBoundByReadingTheKvCache) {
  // Per context token: 2 * 32 * 128 elements of 2 bytes, or 4 * 32 * 128 flops.
  const double bytes = 16384;
  const double flops = 16384;
  EXPECT_DOUBLE_EQ(decode(constant(0.5)).per_context_token_s, bytes / kBandwidth);
  EXPECT_DOUBLE_EQ(decode(wave()).per_context_token_s, bytes / (kBandwidth * 0.7));
  EXPECT_DOUBLE_EQ(decode(smooth_max(0.5, 0.7, 4e-6)).per_context_token_s,
                   std::cbrt(std::pow(bytes / (kBandwidth * 0.7), 3) + std::pow(flops / (kPeakFlops * 0.5), 3)));
}

TEST(DecodeAttention, PaysItsConstantOncePerBatch) {
  EXPECT_DOUBLE_EQ(decode(constant(0.5)).fixed_s, 0);
  EXPECT_DOUBLE_EQ(decode(wave()).fixed_s, 10e-6);
  EXPECT_DOUBLE_EQ(decode(smooth_max(0.5, 0.7, 4e-6)).fixed_s, 4e-6);
}

TEST(CostModel, GivesTheClosedFormOfRecomputationForGptShapes) {
  // HCache and CachedAttention: C_rec = (24 n D^2 + 2 n^2 D) / F, C_H = 4 n D^2 / F a layer.
  const double n = 1024;
  const double d = 4096;
  const CostModel cost(gpt(4096, 4), compute_bound_machine(), 1);
  EXPECT_DOUBLE_EQ(cost.prefill_layer_flops({1024, 0}), 24 * n * d * d + 2 * n * n * d);
  EXPECT_DOUBLE_EQ(cost.prefill_layer_s({1024, 0}), (24 * n * d * d + 2 * n * n * d) / kPeakFlops);
  EXPECT_DOUBLE_EQ(cost.project_kv_layer_flops(1024), 4 * n * d * d);
  EXPECT_DOUBLE_EQ(cost.project_kv_layer_s(1024), 4 * n * d * d / kPeakFlops);
}

TEST(CostModel, RecomputesAtLeastSixTimesSlowerThanItProjects) {
  // C_rec / C_H = 6 + n / (2 D), here 6 + 8192 / 8192.
  const CostModel cost(gpt(4096, 4), compute_bound_machine(), 1);
  EXPECT_NEAR(cost.prefill_layer_s({8192, 0}) / cost.project_kv_layer_s(8192), 7, 1e-9);
}

TEST(CostModel, SumsTheFourGemmsOfAGroupedQueryGatedLayer) {
  ModelSpec model = llama_2_7b();
  model.num_key_value_heads = 8;
  model.intermediate_size = 14336;
  HardwareProfile hardware = machine();
  hardware.gpu.gemm = smooth_max(0.8, 0.7, 5e-6);
  const Efficiency& e = hardware.gpu.gemm;
  const CostModel cost(model, hardware, 1);
  EXPECT_DOUBLE_EQ(cost.linear_layer_s(300),
                   gemm(e, 300, (32 + 2 * 8) * 128, 4096) + gemm(e, 300, 4096, 4096) +
                       gemm(e, 300, 2 * 14336, 4096) + gemm(e, 300, 4096, 14336));
  EXPECT_DOUBLE_EQ(cost.project_kv_layer_s(300), gemm(e, 300, 2 * 8 * 128, 4096));
}

TEST(CostModel, AddsTheOverheadsOfKernelsAndOfTheHost) {
  HardwareProfile hardware = compute_bound_machine();
  const CostModel without(llama_2_7b(), hardware, 1);
  hardware.gpu.kernel_overhead_s = 3e-6;
  hardware.gpu.host_overhead_per_layer_s = 100e-6;
  const CostModel with(llama_2_7b(), hardware, 1);
  const auto added = [&](auto part) { return part(with) - part(without); };
  EXPECT_NEAR(added([](const CostModel& c) { return c.linear_layer_s(64); }), 4 * 3e-6 + 100e-6, 1e-12);
  EXPECT_NEAR(added([](const CostModel& c) { return c.attention_layer_s({64, 0}); }), 3e-6, 1e-12);
  EXPECT_NEAR(added([](const CostModel& c) { return c.decode_attention_layer_s(1).fixed_s; }), 3e-6, 1e-12);
  EXPECT_NEAR(added([](const CostModel& c) { return c.project_kv_layer_s(64); }), 3e-6, 1e-12);
  EXPECT_NEAR(added([](const CostModel& c) { return c.head_s(1); }), 3e-6, 1e-12);
}

TEST(CostModel, CountsElementwiseTrafficWhereTheProfileHasIt) {
  // A layer: two norms 4 D, two residual adds 6 D, rotary 2 (h + g) d, gated activation 3 I elements; six
  // kernels. The projection of K and V rotates the keys: 2 g d, one kernel.
  HardwareProfile hardware = machine();
  const CostModel without(llama_2_7b(), hardware, 1);
  hardware.gpu.elementwise = Elementwise{.bandwidth_efficiency = 0.5, .constant_s = 4e-6};
  const CostModel with(llama_2_7b(), hardware, 1);
  const double elements = 10.0 * 4096 + 2 * 64 * 128 + 3 * 11008;
  EXPECT_NEAR(with.linear_layer_s(1000) - without.linear_layer_s(1000),
              1000 * elements * 2 / (kBandwidth * 0.5) + 6 * 4e-6, 1e-12);
  EXPECT_NEAR(with.project_kv_layer_s(1000) - without.project_kv_layer_s(1000),
              1000 * 2.0 * 4096 * 2 / (kBandwidth * 0.5) + 4e-6, 1e-12);
}

TEST(CostModel, PrefillsAllLayersAndSamplesOneToken) {
  HardwareProfile hardware = machine();
  hardware.gpu.gemm = smooth_max(0.8, 0.7, 5e-6);
  const CostModel cost(llama_2_7b(), hardware, 1);
  EXPECT_DOUBLE_EQ(cost.head_s(1), gemm(hardware.gpu.gemm, 1, 32000, 4096));
  EXPECT_DOUBLE_EQ(cost.prefill_s({100, 400}),
                   32 * (cost.linear_layer_s(100) + cost.attention_layer_s({100, 400})) + cost.head_s(1));
}

TEST(CostModel, DecodesInTimeAffineInTheContext) {
  const CostModel cost(llama_2_7b(), machine(), 1);
  const double short_s = cost.decode_step_s(16, 16'000);
  const double long_s = cost.decode_step_s(16, 32'000);
  EXPECT_NEAR(long_s - short_s, 32 * 16'000 * cost.decode_attention_layer_s(16).per_context_token_s, 1e-12);
  // 16 rows stream the 32 layers' weights, 6,476,005,376 elements, and their own activations.
  EXPECT_NEAR(short_s - 32 * 16'000 * 16384 / kBandwidth, 2 * 6.607e9 / kBandwidth, 0.01 * short_s);
}

TEST(CostModel, TakesNoTimeForNothing) {
  const CostModel cost(llama_2_7b(), machine(), 2);
  EXPECT_EQ(cost.linear_layer_s(0), 0);
  EXPECT_EQ(cost.attention_layer_s({0, 1000}), 0);
  EXPECT_EQ(cost.project_kv_layer_s(0), 0);
  EXPECT_EQ(cost.head_s(0), 0);
  EXPECT_EQ(cost.decode_step_s(0, 0), 0);
}

TEST(CostModel, RemembersWithoutChangingTheAnswer) {
  HardwareProfile hardware = machine();
  hardware.gpu.gemm = smooth_max(0.8, 0.7, 5e-6);
  const CostModel asked_often(llama_2_7b(), hardware, 1);
  const CostModel asked_once(llama_2_7b(), hardware, 1);
  for (int64_t tokens : {700, 3, 1'000'000, 700}) asked_often.linear_layer_s(tokens);
  EXPECT_EQ(asked_often.linear_layer_s(700), asked_once.linear_layer_s(700));
  EXPECT_EQ(asked_often.linear_layer_s(1'000'000), asked_once.linear_layer_s(1'000'000));
}

TEST(CostModel, SaysWhenItsTableWasLeft) {
  HardwareProfile hardware = machine();
  hardware.gpu.gemm = table();
  const CostModel cost(gpt(4096, 2), hardware, 1);
  EXPECT_FALSE(cost.extrapolated());
  cost.linear_layer_s(128);  // the FFN's shapes are not in the table
  EXPECT_TRUE(cost.extrapolated());
}

TEST(TensorParallel, DividesTheWorkAndReducesTwice) {
  const CostModel one(llama_2_7b(), compute_bound_machine(), 1);
  const CostModel four(llama_2_7b(), compute_bound_machine(), 4);
  // Ring all-reduce of 1000 * 4096 * 2 bytes: 2 * 3/4 of them at 300 GB/s, and 8 us.
  const double reduce_s = 2 * 0.75 * 1000 * 8192 / 300e9 + 8e-6;
  EXPECT_DOUBLE_EQ(four.all_reduce_s(1000 * 8192), reduce_s);
  EXPECT_NEAR(four.linear_layer_s(1000), one.linear_layer_s(1000) / 4 + 2 * reduce_s, 1e-12);
  EXPECT_NEAR(four.attention_layer_s({1000, 500}), one.attention_layer_s({1000, 500}) / 4, 1e-12);
  EXPECT_DOUBLE_EQ(four.prefill_layer_flops({1000, 500}), one.prefill_layer_flops({1000, 500}));
}

TEST(TensorParallel, GathersTheHiddenStatesThatEachGpuReadAShareOf) {
  const CostModel one(llama_2_7b(), compute_bound_machine(), 1);
  const CostModel four(llama_2_7b(), compute_bound_machine(), 4);
  const double gather_s = 0.75 * 1000 * 8192 / 300e9 + 8e-6;
  EXPECT_DOUBLE_EQ(four.all_gather_s(1000 * 8192), gather_s);
  EXPECT_NEAR(four.project_kv_layer_s(1000), one.project_kv_layer_s(1000) / 4 + gather_s, 1e-12);
}

TEST(TensorParallel, GoesOverTheSlowerDirectionOfPcieWithoutNvlink) {
  HardwareProfile hardware = machine();
  hardware.nvlink.reset();
  const CostModel cost(llama_2_7b(), hardware, 2);
  EXPECT_DOUBLE_EQ(cost.all_gather_s(1e6), 0.5 * 1e6 / 20e9 + 10e-6);
  EXPECT_EQ(CostModel(llama_2_7b(), hardware, 1).all_reduce_s(1e6), 0);
}

TEST(TensorParallel, ReplicatesKvHeadsWhenThereAreFewerThanGpus) {
  ModelSpec model = llama_2_7b();
  model.num_key_value_heads = 2;
  const CostModel two(model, memory_bound_machine(), 2);
  const CostModel eight(model, memory_bound_machine(), 8);
  EXPECT_DOUBLE_EQ(eight.decode_attention_layer_s(1).per_context_token_s,
                   two.decode_attention_layer_s(1).per_context_token_s);
}

ModelSpec mixtral() {
  ModelSpec model = llama_2_7b();
  model.num_key_value_heads = 8;
  model.intermediate_size = 14336;
  model.experts = Experts{.count = 8, .active = 2, .intermediate_size = 14336};
  return model;
}

TEST(Experts, SpendFlopsOnTheActiveOnesOnly) {
  // Attention (32 + 16) 128 D + D^2, router 8 D, two experts of 3 D I each.
  const double d = 4096;
  const double expected = 2 * 100 * (48 * 128 * d + d * d + 8 * d + 2 * 3 * d * 14336);
  const CostModel cost(mixtral(), compute_bound_machine(), 1);
  EXPECT_DOUBLE_EQ(cost.prefill_layer_flops({100, 0}) - 2 * 100 * 100 * d, expected);
  EXPECT_NEAR(cost.linear_layer_s(100), expected / kPeakFlops, 1e-12);
}

TEST(Experts, ReadTheWeightsOfThoseThatAreHit) {
  // 3 tokens with 2 of 8 experts each reach 8 (1 - 0.75^3) = 4.625 experts on average.
  const double d = 4096;
  const double hit = 8 * (1 - std::pow(0.75, 3));
  const double weights = 48 * 128 * d + d * d + 8 * d + hit * 3 * d * 14336;
  const double rows = 3 * (d + 48 * 128) + 3 * 2 * d + 3 * (8 + d) + 3 * 2 * (d + 2 * 14336 + 14336 + d);
  EXPECT_NEAR(CostModel(mixtral(), memory_bound_machine(), 1).linear_layer_s(3),
              2 * (weights + rows) / kBandwidth, 1e-12);
}

TEST(Experts, PayOneConstantPerKernelNotPerExpert) {
  HardwareProfile hardware = compute_bound_machine();
  hardware.gpu.gemm = smooth_max(1, 1, 5e-6);
  const double without_s = CostModel(mixtral(), compute_bound_machine(), 1).linear_layer_s(64);
  // QKV, O, router, up and gate, down.
  EXPECT_NEAR(CostModel(mixtral(), hardware, 1).linear_layer_s(64), without_s + 5 * 5e-6, 1e-10);
}

TEST(Experts, LeaveLeadingLayersDense) {
  ModelSpec model = mixtral();
  model.experts->dense_layers = 8;
  ModelSpec dense = mixtral();
  dense.experts.reset();
  const auto prefill_s = [](const ModelSpec& m) {
    return CostModel(m, compute_bound_machine(), 1).prefill_s({256, 0});
  };
  EXPECT_NEAR(prefill_s(model), 0.25 * prefill_s(dense) + 0.75 * prefill_s(mixtral()), 1e-12);
}

TEST(LatentAttention, ExpandsTheLatentInPrefill) {
  // DeepSeek-V2: heads of 128 + 64 for keys and 128 for values; causal pairs n^2 / 2, two flops each.
  const double n = 1024;
  const double heads = 128;
  const double projections = 5120.0 * 1536 + 1536 * heads * 192 + 5120 * 576 + 512 * heads * 256 +
                             heads * 128 * 5120;
  const double dense_ffn = 3.0 * 5120 * 12288;
  const double expert_ffn = 5120.0 * 160 + (6 + 2) * 3.0 * 5120 * 1536;
  const double linear = 2 * n * (projections + (dense_ffn + 59 * expert_ffn) / 60);
  const CostModel cost(deepseek_v2(), compute_bound_machine(), 1);
  EXPECT_NEAR(cost.prefill_layer_flops({1024, 0}) / (linear + 2 * heads * (192 + 128) * n * n / 2), 1, 1e-12);
  EXPECT_NEAR(cost.linear_layer_s(1024), linear / kPeakFlops, 1e-12);
}

TEST(LatentAttention, ExpandsCachedLatentsBeforePrefill) {
  const CostModel cost(deepseek_v2(), compute_bound_machine(), 1);
  const double pairs = 64.0 * 4096 + 64.0 * 64 / 2;
  const double expansion = 2 * 4096.0 * 512 * 128 * 256;
  EXPECT_NEAR(cost.attention_layer_s({64, 4096}),
              (2 * 128 * (192 + 128) * pairs + expansion) / kPeakFlops, 1e-12);
}

TEST(LatentAttention, DecodesOverTheLatentOnEveryGpu) {
  // Per context token: 128 heads against 576 key and 512 value elements; 576 elements read, on one GPU or on
  // each of eight.
  EXPECT_DOUBLE_EQ(
      CostModel(deepseek_v2(), compute_bound_machine(), 1).decode_attention_layer_s(1).per_context_token_s,
      2.0 * 128 * (576 + 512) / kPeakFlops);
  for (int64_t gpus : {1, 8}) {
    EXPECT_DOUBLE_EQ(
        CostModel(deepseek_v2(), memory_bound_machine(), gpus).decode_attention_layer_s(1).per_context_token_s,
        2.0 * 576 / kBandwidth);
  }
}

TEST(LatentAttention, RestoresTheLatentAndTheRotaryKey) {
  const CostModel cost(deepseek_v2(), compute_bound_machine(), 1);
  EXPECT_DOUBLE_EQ(cost.project_kv_layer_flops(100), 2.0 * 100 * 5120 * 576);
  EXPECT_DOUBLE_EQ(cost.project_kv_layer_s(100), 2.0 * 100 * 5120 * 576 / kPeakFlops);
}

TEST(KvCapacity, IsWhatWeightsAndActivationsLeave) {
  // Llama-2-7B, 2048 rows: residual 4096, input 4096 and output 2 * 11008 of the up projection.
  const KvCapacity capacity = derive_kv_capacity(llama_2_7b(), machine(), 1, 0.9, 2048, 16);
  EXPECT_DOUBLE_EQ(capacity.weight_bytes, 2 * 6'738'415'616.0);
  EXPECT_DOUBLE_EQ(capacity.activation_bytes, 2048 * (4096 + 4096 + 2 * 11008) * 2);
  const double free_bytes =
      0.9 * 40 * std::pow(1024, 3) - capacity.weight_bytes - capacity.activation_bytes;
  EXPECT_EQ(capacity.tokens, 16 * static_cast<int64_t>(free_bytes / (16 * 524288)));
}

TEST(KvCapacity, ComesNearWhatHCachePrintsForAnA100) {
  // HCache 2.4: 48 K tokens for Llama2-7B and 17 K for Llama2-13B on 40 GiB. The two printed numbers imply
  // different shares of the memory (0.90 and 0.93), so 13B stays 10 % below at 0.9.
  EXPECT_NEAR(derive_kv_capacity(llama_2_7b(), machine(), 1, 0.9, 2048, 16).tokens, 48'000, 0.03 * 48'000);
  EXPECT_NEAR(derive_kv_capacity(llama_2_13b(), machine(), 1, 0.9, 2048, 16).tokens, 17'000, 0.12 * 17'000);
}

TEST(KvCapacity, IsZeroWhenTheWeightsDoNotFit) {
  HardwareProfile hardware = machine();
  hardware.gpu.memory_bytes = 14e9;
  EXPECT_EQ(derive_kv_capacity(llama_2_7b(), hardware, 1, 0.9, 2048, 16).tokens, 0);
}

TEST(KvCapacity, CountsReplicatedLatentsOnEveryGpu) {
  ModelSpec model = deepseek_v2();
  HardwareProfile hardware = machine();
  hardware.gpu.memory_bytes = 80e9;
  const KvCapacity capacity = derive_kv_capacity(model, hardware, 8, 0.9, 2048, 16);
  const double free_bytes = 8 * 80e9 * 0.9 - capacity.weight_bytes - capacity.activation_bytes;
  EXPECT_NEAR(static_cast<double>(capacity.tokens), free_bytes / (8 * 60 * 576 * 2), 16);
}

}  // namespace
}  // namespace kvcap
