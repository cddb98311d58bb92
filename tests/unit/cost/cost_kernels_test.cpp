// Single kernels against sums done by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "cost/cost_model.h"
#include "cost/gemm.h"
#include "unit/cost_examples.h"

namespace kvcap::cost_kernels_test {
namespace {

double per_token_s(const Efficiency& efficiency, int64_t m) {
  return gemm(efficiency, m, 4096, 4096) / static_cast<double>(m);
}

TEST(Gemm, TakesTheLongerOfFlopsAndBytesWithConstantEfficiency) {
  // Large: 2 * 4096^3 flops at half the peak. Small: 16 rows, 2 (4096^2 + 2 * 16 * 4096) bytes.
  EXPECT_DOUBLE_EQ(gemm(constant(0.5), 4096, 4096, 4096), 2 * std::pow(4096, 3) / (kPeakFlops * 0.5));
  EXPECT_DOUBLE_EQ(gemm(constant(0.5), 16, 4096, 4096), 2 * (4096.0 * 4096 + 2 * 16 * 4096) / kBandwidth);
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

// A 32-bit scale per block of 128 x 128 weights adds 0.02 %, a scale per 16 four-bit weights an eighth.
TEST(Gemm, MultipliesInThePrecisionOfTheWiderOperandWithoutItsScales) {
  EXPECT_EQ(precision_of({.activation = 1, .weight = 1}), Precision::fp8);
  EXPECT_EQ(precision_of({.activation = 1, .weight = 1 + 4.0 / (128 * 128)}), Precision::fp8);
  EXPECT_EQ(precision_of({.activation = 1, .weight = 0.5625}), Precision::fp8);
  EXPECT_EQ(precision_of({.activation = 0.5, .weight = 0.5625}), Precision::fp4);
  EXPECT_EQ(precision_of({.activation = 2, .weight = 0.5625}), Precision::half);
  EXPECT_EQ(precision_of({.activation = 1, .weight = 2}), Precision::half);
}

TEST(GemmTable, ReturnsMeasuredPoints) {
  bool extrapolated = false;
  EXPECT_DOUBLE_EQ(gemm(table(), 256, 4096, 4096, &extrapolated), 40e-6);
  EXPECT_DOUBLE_EQ(gemm(table(), 64, 12288, 4096, &extrapolated), 50e-6);
  EXPECT_DOUBLE_EQ(gemm(table(), 1024, 4096, 4096, &extrapolated), 160e-6);
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

TEST(GemmTable, ScalesFromTheNarrowerOfTwoShapesThatAreEquallyNear) {
  // 8192 is twice 4096 and half of 16384: 2 x 40 us and not 200 us / 2.
  const Efficiency two{.model = EfficiencyModel::table,
                       .points = {{256, 4096, 4096, 40e-6}, {256, 16384, 4096, 200e-6}}};
  EXPECT_NEAR(gemm(two, 256, 8192, 4096), 80e-6, 1e-15);
}

// GEMMs of a machine that follows smooth_max(0.8, 0.7, 5 us), in elements of two bytes.
Efficiency measured_table() {
  Efficiency table{.model = EfficiencyModel::table};
  for (const int64_t n : {1024, 4096, 16384}) {
    for (const int64_t m : {1, 16, 64, 256, 1024, 4096}) {
      table.points.push_back({m, n, 4096, gemm(smooth_max(0.8, 0.7, 5e-6), m, n, 4096)});
    }
  }
  return table;
}

TEST(GemmTable, FindsTheSmoothMaximumThatItsPointsFollow) {
  const Efficiency fit = smooth_fit(machine().gpu, measured_table().points);
  EXPECT_NEAR(fit.efficiency, 0.8, 1e-6);
  EXPECT_NEAR(fit.bandwidth_efficiency, 0.7, 1e-6);
  EXPECT_NEAR(fit.constant_s, 5e-6, 1e-11);
}

TEST(GemmTable, TimesOtherShapesByTheFitAndTheErrorOfTheFitThere) {
  // Every measured time is 1.1 of the smooth maximum, which the fit follows, and one is 1.3 of it: at 64 and
  // 256 rows of the nearest shape the fit is off by 1 and 1.3 / 1.1, of which 128 rows get the geometric
  // mean. The one point moves the fit a little.
  Efficiency table = measured_table();
  for (GemmPoint& point : table.points) point.time_s *= 1.1;
  const Efficiency fit = smooth_fit(machine().gpu, table.points);
  GemmPoint& slow = table.points[3];  // 256 rows of 1024 x 4096
  slow.time_s *= 1.3 / 1.1;
  bool extrapolated = false;
  const double expected_s = gemm(fit, 128, 1536, 4096) * std::sqrt(1.3 / 1.1);
  EXPECT_NEAR(gemm(table, 128, 1536, 4096, &extrapolated), expected_s, 0.05 * expected_s);
  EXPECT_TRUE(extrapolated);
}

TEST(GemmTable, TimesWeightsOfOtherBytesByTheirBytes) {
  // 16 rows stream the weights: 4096 * 4096 elements of one byte instead of two, and activations of two.
  bool extrapolated = false;
  const Gpu gpu = machine().gpu;
  const double half_s = gemm_s(measured_table(), gpu, 16, 4096, 4096, 2, 1, &extrapolated);
  EXPECT_NEAR(half_s, gemm_s(smooth_max(0.8, 0.7, 5e-6), gpu, 16, 4096, 4096, 2, 1), 1e-9);
  EXPECT_LT(half_s, 0.7 * gemm(measured_table(), 16, 4096, 4096));
  EXPECT_TRUE(extrapolated);
}

TEST(GemmTable, HoldsPointsOfSeveralNumberFormats) {
  Efficiency table = measured_table();
  table.points.push_back({.m = 16,
                          .n = 4096,
                          .k = 4096,
                          .time_s = 1e-3,
                          .activation_bytes_per_element = 1,
                          .weight_bytes_per_element = 1});
  bool extrapolated = false;
  EXPECT_DOUBLE_EQ(gemm_s(table, machine().gpu, 16, 4096, 4096, 1, 1, &extrapolated), 1e-3);
  EXPECT_DOUBLE_EQ(gemm(table, 16, 4096, 4096, &extrapolated), gemm(measured_table(), 16, 4096, 4096));
  EXPECT_FALSE(extrapolated);
}

TEST(GroupedGemm, IsOneKernelOfAllFlopsAndAllWeights) {
  // 8 experts of 4096 x 4096 with 16 rows each: 8 times the flops and bytes of one, and one constant.
  HardwareProfile hardware = machine();
  hardware.gpu.gemm = measured_table();
  const Gemms gemms(hardware.gpu, {2, 2, 2});
  bool extrapolated = false;
  const double compute_s = 8 * 2.0 * 16 * 4096 * 4096 / (kPeakFlops * 0.8);
  const double memory_s = 8 * 2 * (4096.0 * 4096 + 2 * 16 * 4096) / (kBandwidth * 0.7);
  const double expected_s = std::cbrt(std::pow(compute_s, 3) + std::pow(memory_s, 3)) + 5e-6;
  EXPECT_NEAR(gemms.time_s({16, 8, true}, {4096, 4096}, &extrapolated), expected_s, 1e-6 * expected_s);
}

TEST(GroupedGemm, HasAnEfficiencyOfItsOwnWhereTheProfileHasOne) {
  HardwareProfile hardware = machine();
  hardware.gpu.gemm = smooth_max(0.8, 0.7, 5e-6);
  hardware.gpu.grouped_gemm = smooth_max(0.4, 0.7, 10e-6);
  const Gemms gemms(hardware.gpu, {2, 2, 2});
  bool extrapolated = false;
  EXPECT_DOUBLE_EQ(gemms.time_s({256, 1, true}, {4096, 4096}, &extrapolated),
                   gemm(smooth_max(0.4, 0.7, 10e-6), 256, 4096, 4096));
  EXPECT_DOUBLE_EQ(gemms.time_s({256, 1}, {4096, 4096}, &extrapolated),
                   gemm(smooth_max(0.8, 0.7, 5e-6), 256, 4096, 4096));
}

TEST(GroupedGemm, OfFourBitWeightsHasAnEfficiencyOfItsOwn) {
  HardwareProfile hardware = machine();
  hardware.gpu.grouped_gemm = smooth_max(0.8, 0.7, 5e-6);
  hardware.gpu.grouped_gemm_fp8 = smooth_max(0.6, 0.7, 6e-6);
  const auto constant_us = [&](double activation, double weight) {
    bool extrapolated = false;
    const Gemms gemms(hardware.gpu, {activation, weight, 2});
    return std::round(1e6 * gemms.time_s({1, 1, true}, {1, 1}, &extrapolated));
  };
  EXPECT_EQ(constant_us(2, 0.53125), 5);
  EXPECT_EQ(constant_us(1, 0.53125), 6);
  hardware.gpu.grouped_gemm_w4a16 = smooth_max(0.4, 0.5, 17e-6);
  hardware.gpu.grouped_gemm_fp4 = smooth_max(0.4, 0.5, 4e-6);
  EXPECT_EQ(constant_us(2, 0.53125), 17);
  EXPECT_EQ(constant_us(2, 1), 5);  // 8-bit weights
  EXPECT_EQ(constant_us(1, 0.53125), 4);
  EXPECT_EQ(constant_us(1, 1), 6);
}

TEST(QkNorm, OfEveryHeadIsOneKernelAndOverAllHeadsTwoAndASumOverTheGpus) {
  HardwareProfile hardware = machine();
  hardware.gpu.count = 2;
  hardware.gpu.elementwise = Elementwise{.bandwidth_efficiency = 0.5, .constant_s = 2e-6};
  ModelSpec model = llama_2_7b();
  const auto layer_s = [&](QkNorm norm) {
    model.qk_norm = norm;
    return CostModel(model, hardware, 2).linear_layer_s(100);
  };
  // Queries and keys of 16 heads of 128 each on a GPU, in two bytes.
  const double one_pass_s = 100.0 * 2 * 16 * 128 * 2 / (kBandwidth * 0.5);
  const double none_s = layer_s(QkNorm::none);
  EXPECT_NEAR(layer_s(QkNorm::head) - none_s, 2 * one_pass_s + 2e-6, 1e-12);
  const double sum_s = CostModel(model, hardware, 2).all_reduce_s(100 * 8);
  EXPECT_GT(sum_s, 0);
  EXPECT_NEAR(layer_s(QkNorm::all_heads) - none_s, 3 * one_pass_s + 2 * 2e-6 + sum_s, 1e-12);
}

TEST(Router, PicksExpertsInAKernelThatReadsTheirLogits) {
  HardwareProfile hardware = machine();
  const auto layer_s = [&](std::optional<Elementwise> elementwise, int64_t active) {
    hardware.gpu.elementwise = elementwise;
    ModelSpec model = llama_2_7b();
    model.experts = Experts{.count = 64, .active = active, .intermediate_size = 1};
    return CostModel(model, hardware, 1).linear_layer_s(1);
  };
  // Norms and residuals (4 kernels), rope, the router's pick, activation, sum.
  const double with_s = layer_s(Elementwise{.bandwidth_efficiency = 1, .constant_s = 1}, 2);
  EXPECT_NEAR(with_s - layer_s(std::nullopt, 2), 8, 1e-3);
}

// Two kernels beside each GEMM: rows of k inputs to `rank` sums of 4 bytes, and these to n outputs, which are
// read and written; each adapter in use has rank x (k + n) elements.
TEST(Adapters, ReadTheirRowsAndThemselvesBesideEveryGemm) {
  HardwareProfile hardware = machine();
  hardware.gpu.elementwise = Elementwise{.bandwidth_efficiency = 0.5, .constant_s = 2e-6};
  const double gemms[][2] = {{3 * 4096, 4096}, {4096, 4096}, {2 * 11008, 4096}, {4096, 11008}};
  for (const double rows : {1.0, 8.0}) {
    double expected_s = 0;
    for (const auto& [n, k] : gemms) {
      const double adapters = rows == 1 ? 1 : 3;  // one row uses one of the three
      const double bytes = 2 * (rows * (k + 2 * n) + adapters * 16 * (k + n)) + 2 * rows * 16 * 4;
      expected_s += bytes / (0.5 * kBandwidth) + 2 * 2e-6;
    }
    CostModel with(llama_2_7b(), hardware, 1);
    with.add_adapters({.count = 3, .rank = 16});
    const double without_s = CostModel(llama_2_7b(), hardware, 1).linear_layer_s(static_cast<int64_t>(rows));
    EXPECT_NEAR(with.linear_layer_s(static_cast<int64_t>(rows)) - without_s, expected_s, 1e-12);
  }
}

// Each of 2 rows reaches 2 of 4 experts, whose adapters lie apart: 4 pairs.
TEST(Adapters, OfExpertsAreReadForEachExpertThatIsReached) {
  const HardwareProfile hardware = machine();
  ModelSpec model = llama_2_7b();
  model.experts = Experts{.count = 4, .active = 2, .intermediate_size = 1024};
  const auto added_s = [&](int64_t count) {
    CostModel with(model, hardware, 1);
    with.add_adapters({.count = count, .rank = 16});
    return with.linear_layer_s(2) - CostModel(model, hardware, 1).linear_layer_s(2);
  };
  // A second adapter doubles what attention reads, and what reached experts do until pairs are fewer.
  const double attention = 16.0 * 2 * (4 * 4096 + 2 * 4096 + 4096 + 4);  // and the router
  const double expert = 16.0 * 2 * (4096 + 2048 + 1024 + 4096);
  const double reached = 4 * (1 - 2.0 * 3 / (4 * 5));  // RoutedExperts::distinct
  EXPECT_NEAR(added_s(2) - added_s(1), (attention + (4 - reached) * expert) / kBandwidth, 1e-12);
}

TEST(GemmPrecision, IsThatOfTheWiderOperand) {
  Gpu gpu = machine().gpu;
  gpu.peak_flops_fp8 = 2 * kPeakFlops;
  gpu.peak_flops_fp4 = 4 * kPeakFlops;
  const double flops = 2 * std::pow(8192, 3);
  const auto time_s = [&gpu](double activation, double weight) {
    return gemm_s(constant(1), gpu, 8192, 8192, 8192, activation, weight);
  };
  EXPECT_DOUBLE_EQ(time_s(2, 2), flops / kPeakFlops);
  EXPECT_DOUBLE_EQ(time_s(2, 0.5), flops / kPeakFlops);  // 4-bit weights are expanded
  EXPECT_DOUBLE_EQ(time_s(1, 1), flops / (2 * kPeakFlops));
  EXPECT_DOUBLE_EQ(time_s(1, 0.5), flops / (2 * kPeakFlops));
  EXPECT_DOUBLE_EQ(time_s(0.5, 0.5625), flops / (4 * kPeakFlops));
  gpu.peak_flops_fp4 = {};
  EXPECT_DOUBLE_EQ(time_s(0.5, 0.5625), flops / (2 * kPeakFlops));
  gpu.peak_flops_fp8 = {};
  EXPECT_DOUBLE_EQ(time_s(1, 1), flops / kPeakFlops);
}

TEST(GemmPrecision, PaysForQuantisingTheInputWhereTheProfileSaysSo) {
  // 256 x 4096 elements are read in two bytes and written in one, at half of the memory's bandwidth.
  Gpu gpu = machine().gpu;
  Efficiency efficiency = smooth_max(0.8, 0.7, 5e-6);
  const double fused_s = gemm_s(efficiency, gpu, 256, 4096, 4096, 1, 1);
  efficiency.quantize_bandwidth_efficiency = 0.5;
  EXPECT_NEAR(gemm_s(efficiency, gpu, 256, 4096, 4096, 1, 1), fused_s + 256.0 * 4096 * 3 / (kBandwidth * 0.5),
              1e-15);
  EXPECT_DOUBLE_EQ(gemm_s(efficiency, gpu, 256, 4096, 4096, 2, 1),
                   gemm_s(smooth_max(0.8, 0.7, 5e-6), gpu, 256, 4096, 4096, 2, 1));
}

TEST(DecodeAttention, ReadsHalfTheBytesOfAnEightBitCache) {
  ModelSpec model = llama_2_7b();
  const auto per_token_s = [&model] {
    HardwareProfile hardware = memory_bound_machine();
    hardware.gpu.attention = wave();
    return CostModel(model, hardware, 1).decode_attention_layer_s(16).per_context_token_s;
  };
  const double half_s = per_token_s();
  model.kv_bytes_per_element = 1;
  EXPECT_DOUBLE_EQ(per_token_s(), half_s / 2);
}

TEST(Attention, CostsFourFlopsPerPairHeadAndDimension) {
  // 512 new over 1536 cached: 512 * 1536 + 512^2 / 2 pairs, 32 heads of 128.
  const double pairs = 512.0 * 1536 + 512.0 * 512 / 2;
  EXPECT_DOUBLE_EQ(attention_s(constant(0.5), compute_bound_machine().gpu, {512, 1536}, 32, 8, 128, 2),
                   4 * 32 * 128 * pairs / (kPeakFlops * 0.5));
}

TEST(Attention, ReadsQueriesKeysAndValuesAndWritesOutputs) {
  // Q and O: 2 * 512 * 32 * 128; K and V: 2 * 2048 * 8 * 128 elements of 2 bytes.
  EXPECT_DOUBLE_EQ(attention_s(constant(0.5), memory_bound_machine().gpu, {512, 1536}, 32, 8, 128, 2),
                   2 * (2.0 * 512 * 32 * 128 + 2.0 * 2048 * 8 * 128) / kBandwidth);
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
  EXPECT_DOUBLE_EQ(
      decode(smooth_max(0.5, 0.7, 4e-6)).per_context_token_s,
      std::cbrt(std::pow(bytes / (kBandwidth * 0.7), 3) + std::pow(flops / (kPeakFlops * 0.5), 3)));
}

TEST(DecodeAttention, PaysItsConstantOncePerBatch) {
  EXPECT_DOUBLE_EQ(decode(constant(0.5)).fixed_s, 0);
  EXPECT_DOUBLE_EQ(decode(wave()).fixed_s, 10e-6);
  EXPECT_DOUBLE_EQ(decode(smooth_max(0.5, 0.7, 4e-6)).fixed_s, 4e-6);
}

}  // namespace
}  // namespace kvcap::cost_kernels_test
