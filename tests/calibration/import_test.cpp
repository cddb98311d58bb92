// Tables of other programs into a profile, and what the simulator then reads from it.
#include "calibration/import.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/input_error.h"
#include "cost/cost_model.h"
#include "scenario/load.h"

namespace kvcap::calibration::import_test {
namespace {

class Import : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  HardwareProfile imported(const ImportOptions& options) const {
    return load_hardware(write("profile.json", import_profile(options)));
  }
  std::string error_of(const std::string& text) const {
    ImportOptions options{.tables = {write("table.csv", text)}, .base = "h100-sxm-8x"};
    try {
      import_profile(options);
    } catch (const InputError& error) {
      const std::string what = error.what();
      return what.substr(what.find("table.csv"));
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

// GEMMs of a machine that follows smooth_max(0.7, 0.8, 6 us) of an H100's peak and bandwidth.
std::string gemm_table(const Gpu& gpu) {
  const Efficiency smooth{.model = EfficiencyModel::smooth_max,
                          .efficiency = 0.7,
                          .bandwidth_efficiency = 0.8,
                          .constant_s = 6e-6};
  std::string text = "gpu,dtype,n,k,m,t_ms\n";
  for (const auto& [dtype, bytes] : {std::pair("bfloat16", 2.0), {"fp8", 1.0}}) {
    for (const int64_t n : {1024, 4096, 16384}) {
      for (const int64_t m : {1, 16, 128, 1024, 8192}) {
        const double time_s = gemm_s(smooth, gpu, m, n, 4096, bytes, bytes);
        text += std::string("mine,") + dtype + "," + std::to_string(n) + ",4096," + std::to_string(m) + "," +
                std::to_string(1e3 * time_s) + "\n";
        text += std::string("another,") + dtype + "," + std::to_string(n) + ",4096," + std::to_string(m) +
                ",1000\n";
      }
    }
  }
  return text;
}

TEST_F(Import, MakesATableOfTheRowsThatAreWanted) {
  const Gpu h100 = load_hardware("h100-sxm-8x").gpu;
  const ImportOptions options{.tables = {write("gemm.csv", gemm_table(h100))},
                              .base = "h100-sxm-8x",
                              .name = "mine",
                              .where = {{"gpu", "mine"}}};
  const HardwareProfile profile = imported(options);
  EXPECT_EQ(profile.name, "mine");
  EXPECT_EQ(profile.gpu.gemm.model, EfficiencyModel::table);
  EXPECT_EQ(profile.gpu.gemm.points.size(), 2 * 3 * 5);
  EXPECT_FALSE(profile.gpu.gemm_fp8);
  const auto smooth_s = [&h100](int64_t m, double bytes) {
    return gemm_s({.model = EfficiencyModel::smooth_max,
                   .efficiency = 0.7,
                   .bandwidth_efficiency = 0.8,
                   .constant_s = 6e-6},
                  h100, m, 8192, 8192, bytes, bytes);
  };
  for (const double bytes : {2.0, 1.0}) {
    for (const int64_t m : {4, 300, 4000}) {
      EXPECT_NEAR(gemm_s(profile.gpu.gemm, profile.gpu, m, 8192, 8192, bytes, bytes) / smooth_s(m, bytes), 1,
                  0.005);
    }
  }
}

TEST_F(Import, FitsASmoothMaximumToEachNumberFormat) {
  const Gpu h100 = load_hardware("h100-sxm-8x").gpu;
  const ImportOptions options{.tables = {write("gemm.csv", gemm_table(h100))},
                              .base = "h100-sxm-8x",
                              .where = {{"gpu", "mine"}},
                              .smooth = true};
  const Gpu gpu = imported(options).gpu;
  ASSERT_TRUE(gpu.gemm_fp8);
  for (const Efficiency& fitted : {gpu.gemm, *gpu.gemm_fp8}) {
    EXPECT_NEAR(fitted.efficiency, 0.7, 0.005);
    EXPECT_NEAR(fitted.bandwidth_efficiency, 0.8, 0.005);
    EXPECT_NEAR(fitted.constant_s, 6e-6, 0.1e-6);
  }
  const std::string text = import_profile(options);
  EXPECT_NE(text.find("fitted to 15 of 30 GEMMs"), std::string::npos);
  EXPECT_NE(text.find("it errs on the other 5 rows by 0."), std::string::npos);
}

TEST_F(Import, TakesCollectivesAsTheyAre) {
  const std::string table =
      "op,num_gpus,bytes,t_us\nall_reduce,4,1024,5\nall_reduce,4,4096,20\nalltoall,4,1024,7\n"
      "reduce_scatter,4,1024,9\n";
  const HardwareProfile profile = imported({.tables = {write("comm.csv", table)}, .base = "a100-80g-sxm-8x"});
  const CostModel cost(load_model("llama-2-7b"), profile, 4);
  EXPECT_DOUBLE_EQ(cost.all_reduce_s(1024), 5e-6);
  EXPECT_NEAR(cost.all_reduce_s(2048), 10e-6, 1e-12);  // the geometric mean of 5 and 20
  EXPECT_DOUBLE_EQ(cost.all_to_all_s(1024), 7e-6);
  // The base's own table is gone, so that its all-gathers take the ring: 3/4 of the bytes at 228 GB/s.
  EXPECT_DOUBLE_EQ(cost.all_gather_s(1e6), 0.75 * 1e6 / 228e9 + 5.7e-6);
}

TEST_F(Import, FitsAttention) {
  std::string table = "q_kv_heads,batch,new_tokens,cached_tokens,t_ms\n";
  const Gpu gpu = load_hardware("h100-sxm-8x").gpu;
  const Efficiency wave{.model = EfficiencyModel::wave,
                        .efficiency = 0.5,
                        .bandwidth_efficiency = 0.7,
                        .constant_s = 10e-6,
                        .block_m = 64};
  for (const int64_t fresh : {16, 64, 512, 4096}) {
    for (const int64_t cached : {0, 1024, 16384}) {
      const double time_s = attention_s(wave, gpu, {fresh, cached}, 32, 8, 128, 2);
      table += "32/8,1," + std::to_string(fresh) + "," + std::to_string(cached) + "," +
               std::to_string(1e3 * time_s) + "\n";
    }
  }
  const Efficiency fitted =
      imported({.tables = {write("attention.csv", table)}, .base = "h100-sxm-8x"}).gpu.attention;
  EXPECT_EQ(fitted.model, EfficiencyModel::wave);
  EXPECT_EQ(fitted.block_m, 64);
  EXPECT_NEAR(fitted.efficiency, 0.5, 0.005);
}

TEST_F(Import, NamesWhatItCannotUse) {
  EXPECT_EQ(error_of("n,k,m,t_ms\n1024,1024,0,1\n"), "table.csv:2: m: found \"0\", allowed: a number from 1");
  EXPECT_EQ(error_of("n,k,m,t_ms\n1024,1024,16,fast\n"),
            "table.csv:2: t_ms: found \"fast\", allowed: a number from 0");
  EXPECT_EQ(error_of("n,k,m,dtype,t_ms\n1024,1024,16,int3,1\n"),
            "table.csv:2: dtype: found \"int3\", allowed: float32, float16, bfloat16, fp8, nvfp4");
  EXPECT_EQ(error_of("n,k,m\n1024,1024,16\n"),
            "table.csv:2: no column of times, allowed: time_s, t_ms, t_us");
  EXPECT_EQ(error_of("n,k,m,t_ms\n"), "table.csv can be used");
}

}  // namespace
}  // namespace kvcap::calibration::import_test
