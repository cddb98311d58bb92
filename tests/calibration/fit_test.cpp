#include "calibration/fit.h"

#include <gtest/gtest.h>

#include "cost/cost_model.h"

namespace kvcap::calibration::fit_test {
namespace {

Gpu gpu() { return {.peak_flops = 1e15, .memory_bandwidth_bytes_per_s = 4e12, .sm_count = 100}; }

Sample taking(double time_s) { return {time_s, time_s, time_s, 0, 5}; }

std::vector<GemmTime> gemms_by(const Efficiency& efficiency) {
  std::vector<GemmTime> times;
  for (const int64_t m : {1, 16, 256, 4096}) {
    for (const int64_t n : {1024, 8192}) {
      const double time_s = gemm_s(efficiency, gpu(), m, n, 4096, 2, 2);
      times.push_back({Format::float16, Launch::graph, m, n, 4096, taking(time_s)});
    }
  }
  return times;
}

TEST(Fit, FindsTheNumbersThatMadeTheTimesOfGemms) {
  const Efficiency truth{.model = EfficiencyModel::smooth_max,
                         .efficiency = 0.82,
                         .bandwidth_efficiency = 0.7,
                         .constant_s = 4e-6};
  const FittedModel fitted = fit_gemm(EfficiencyModel::smooth_max, gpu(), gemms_by(truth));
  EXPECT_NEAR(fitted.efficiency.efficiency, 0.82, 1e-4);
  EXPECT_NEAR(fitted.efficiency.bandwidth_efficiency, 0.7, 1e-4);
  EXPECT_NEAR(fitted.efficiency.constant_s, 4e-6, 1e-9);
  EXPECT_LT(fitted.errors.p90, 1e-4);
  EXPECT_EQ(fitted.errors.points, 8);
}

TEST(Fit, AModelThatCannotBeRightSaysHowWrongItIs) {
  const Efficiency truth{.model = EfficiencyModel::smooth_max,
                         .efficiency = 0.8,
                         .bandwidth_efficiency = 0.5,
                         .constant_s = 1e-4};
  const FittedModel fitted = fit_gemm(EfficiencyModel::constant, gpu(), gemms_by(truth));
  EXPECT_GT(fitted.errors.median, 0.2);
  EXPECT_GT(fitted.errors.p90, 1.1 * fitted.errors.median);
}

TEST(Fit, CountsFlopsAndBytesOfWhatWasTimed) {
  // 2 m n k; the weights once, and rows in and out, in elements of two bytes.
  const GemmTime gemm{.format = Format::float16, .m = 10, .n = 200, .k = 3000};
  EXPECT_DOUBLE_EQ(gemm_flops(gemm), 2.0 * 10 * 200 * 3000);
  EXPECT_DOUBLE_EQ(gemm_bytes(gemm), 2 * (200.0 * 3000 + 10 * 200 + 10 * 3000));
  // Scores and weighted sums, 2 x 2 flops an element: 64 queries over 1,000 keys and half of their own.
  const AttentionTime attention{.format = Format::float16,
                                .batch = 3,
                                .new_tokens = 64,
                                .cached_tokens = 1000,
                                .query_heads = 8,
                                .kv_heads = 2,
                                .head_dim = 128};
  EXPECT_DOUBLE_EQ(attention_flops(attention), 4.0 * 3 * 8 * 128 * (64 * 1000 + 64 * 64 / 2));
}

// Decode times are bytes / (W b) + c, prefill times steps of whole blocks.
TEST(Fit, FindsTheNumbersThatMadeTheTimesOfAttention) {
  const Efficiency truth{.model = EfficiencyModel::wave,
                         .efficiency = 0.6,
                         .bandwidth_efficiency = 0.85,
                         .constant_s = 1e-5,
                         .block_m = 128};
  std::vector<AttentionTime> times;
  for (const int64_t tokens : {16, 192, 1024, 8192}) {
    for (const int64_t cached : {0, 4096}) {
      const double time_s = attention_s(truth, gpu(), {tokens, cached}, 32, 8, 128, 2);
      times.push_back({Format::float16, 1, tokens, cached, 32, 8, 128, taking(time_s)});
    }
  }
  for (const int64_t context : {1024, 32768}) {
    const double bytes = static_cast<double>(16 * context * 2 * 8 * 128 * 2);
    const double time_s = 1e-5 + bytes / (4e12 * 0.85);
    times.push_back({Format::float16, 16, 1, context - 1, 32, 8, 128, taking(time_s)});
  }
  const FittedModel fitted = fit_attention(EfficiencyModel::wave, gpu(), times);
  EXPECT_EQ(fitted.efficiency.block_m, 128);
  EXPECT_NEAR(fitted.efficiency.efficiency, 0.6, 1e-3);
  EXPECT_NEAR(fitted.efficiency.bandwidth_efficiency, 0.85, 1e-3);
  EXPECT_NEAR(fitted.efficiency.constant_s, 1e-5, 1e-8);
}

TEST(Fit, ALinkIsATimePerRequestAndARate) {
  std::vector<TransferTime> times;
  for (double bytes = 4096; bytes < 1e9; bytes *= 4) times.push_back({bytes, 3.4e-6 + bytes / 50e9});
  const FittedLink link = fit_link(times);
  EXPECT_NEAR(link.fixed_s, 3.4e-6, 1e-9);
  EXPECT_NEAR(link.bytes_per_s, 50e9, 1e6);
}

// A ring of four sends 2 x 3/4 of the vector over each link: 1.5 times its bytes at 100 GB/s, and 5 us.
TEST(Fit, AnAllReduceSendsOneAndAHalfVectorsOverEveryLinkOfFour) {
  AllReduceSweep sums{.devices = 4, .library = "ring", .times = {}, .notes = {}};
  for (double bytes = 4096; bytes < 1e9; bytes *= 4)
    sums.times.push_back({"all-reduce", bytes, taking(5e-6 + 1.5 * bytes / 100e9)});
  const FittedLink link = fit_all_reduce(sums);
  EXPECT_NEAR(link.fixed_s, 5e-6, 1e-9);
  EXPECT_NEAR(link.bytes_per_s, 100e9, 1e6);
}

TEST(Fit, ElementwiseKernelsPayBytesAndOneConstant) {
  std::vector<ElementwiseTime> times;
  for (double bytes = 1e4; bytes < 1e9; bytes *= 10)
    times.push_back({"add", bytes, taking(2e-6 + bytes / 3e12)});
  const FittedElementwise fitted = fit_elementwise(gpu(), times);
  EXPECT_NEAR(fitted.elementwise.bandwidth_efficiency, 0.75, 1e-4);  // 3 of 4 TB/s
  EXPECT_NEAR(fitted.elementwise.constant_s, 2e-6, 1e-9);
}

// A valley that bends: the classic function of Rosenbrock has its minimum at (1, 1).
TEST(Fit, LeastSquaresFollowsABentValley) {
  const Residuals rosenbrock = [](const std::vector<double>& x) {
    return std::vector<double>{10 * (x[1] - x[0] * x[0]), 1 - x[0]};
  };
  const std::vector<double> x = least_squares(rosenbrock, {-1.2, 1});
  EXPECT_NEAR(x[0], 1, 1e-4);
  EXPECT_NEAR(x[1], 1, 1e-4);
}

}  // namespace
}  // namespace kvcap::calibration::fit_test
