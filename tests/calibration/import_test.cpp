// Tables of other programs into a profile, and what the simulator then reads from it.
#include "calibration/import.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

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

TEST_F(Import, ReadsTablesOfAiConfiguratorAsTheyAre) {
  const std::string head = "framework,version,device,op_name,kernel_source,";
  const std::string by = "VLLM,0.24.0,NVIDIA H200,";
  const ImportOptions options{
      .tables = {write("gemm_perf.txt", head + "gemm_dtype,m,n,k,latency\n" + by +
                                            "gemm,torch,bfloat16,16,4096,4096,0.02\n" + by +
                                            "gemm,torch,fp8,16,4096,4096,0.012\n" + by +
                                            "gemm,torch,fp8_block,16,4096,4096,0.5\n" + by +
                                            "gemm,torch,int4_wo,16,4096,4096,0.5\n"),
                 write("context_attention_perf.txt",
                       head +
                           "batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,attn_dtype,"
                           "kv_cache_dtype,step,window_size,latency\n" +
                           by + "context_attention,fa3,1,512,32,8,128,1,bfloat16,bfloat16,1024,0,0.1\n" + by +
                           "generation_attention,fa3,4,128,32,0,128,1,bfloat16,bfloat16,7,0,0.2\n" + by +
                           "context_attention,fa3,1,512,32,8,128,1,bfloat16,fp8,0,0,9\n" + by +
                           "context_attention,fa3,1,512,32,8,128,1,bfloat16,bfloat16,0,128,9\n"),
                 write("custom_allreduce_perf.txt",
                       head + "allreduce_dtype,num_gpus,message_size,latency,backend\n" + by +
                           "all_reduce,vLLM_custom_graph,bfloat16,4,1024,0.005,vllm_graph\n" + by +
                           "all_reduce,vLLM_custom_eager,bfloat16,4,1024,0.05,vllm_eager\n"),
                 write("nccl_perf.txt",
                       "nccl_dtype,num_gpus,message_size,kernel_source,op_name,latency\n"
                       "half,4,1024,NCCL,all_gather,0.007\nint8,4,2048,NCCL,alltoall,9\n"
                       "half,4,1024,NCCL,reduce_scatter,9\n")},
      .base = "h200-sxm"};
  const ImportedTimes times = read_tables(options);
  ASSERT_EQ(times.gemms.size(), 2U);
  EXPECT_DOUBLE_EQ(times.gemms[0].time_s, 20e-6);
  EXPECT_EQ(times.gemms[1].activation_bytes_per_element, 1);
  ASSERT_EQ(times.attention.size(), 2U);
  EXPECT_EQ(times.attention[0].new_tokens, 512);
  EXPECT_EQ(times.attention[0].cached_tokens, 1024);
  EXPECT_EQ(times.attention[1].new_tokens, 1);
  EXPECT_EQ(times.attention[1].cached_tokens, 134) << "the query itself is the last of 128 + 7 keys";
  EXPECT_EQ(times.attention[1].kv_heads, 32);
  ASSERT_EQ(times.collectives.all_reduce.size(), 1U);
  EXPECT_DOUBLE_EQ(times.collectives.all_reduce[0].bytes, 2048);
  EXPECT_DOUBLE_EQ(times.collectives.all_reduce[0].time_s, 5e-6);
  ASSERT_EQ(times.collectives.all_gather.size(), 1U);
  EXPECT_TRUE(times.collectives.all_to_all.empty());
  EXPECT_EQ(times.versions, std::set<std::string>{"VLLM 0.24.0 on NVIDIA H200"});
  EXPECT_EQ(times.left_out, (std::map<std::string, int64_t>{{"gemm_dtype fp8_block", 1},
                                                            {"gemm_dtype int4_wo", 1},
                                                            {"kv_cache_dtype fp8", 1},
                                                            {"sliding windows", 1},
                                                            {"collectives without a graph", 1},
                                                            {"collectives of int8", 1},
                                                            {"reduce_scatter", 1}}));
}

TEST_F(Import, SelectsAKernelOfAiConfiguratorsTableAndSaysWhoMeasuredIt) {
  std::string table = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n";
  for (const char* dtype : {"fp8", "fp8_block"}) {
    for (const char* n : {"1024", "4096"}) {
      table += std::string("SGLang,0.5.10,NVIDIA B200,gemm,deep_gemm,") + dtype + ",16," + n + ",4096,0.03\n";
    }
  }
  const ImportOptions options{
      .tables = {write("gemm_perf.txt", table)}, .base = "b200-sxm", .where = {{"gemm_dtype", "fp8_block"}}};
  const HardwareProfile profile = imported(options);
  EXPECT_EQ(profile.gpu.gemm.points.size(), 2U);
  EXPECT_NE(profile.provenance_source.find("measured by SGLang 0.5.10 on NVIDIA B200; all else: "),
            std::string::npos)
      << profile.provenance_source;
}

// Lines as nccl-tests print them; engines reduce in place.
TEST_F(Import, ReadsTheOutputOfNcclTestsAsItIs) {
  const std::string text =
      "# nThread 1 nGpus 4 minBytes 8 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20\n"
      "# Using devices\n"
      "#  Rank  0 Group  0 Pid   6899 on node device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
      "#  Rank  1 Group  0 Pid   6900 on node device  1 [0000:05:00] NVIDIA H100 80GB HBM3\n"
      "#\n"
      "#                                                              out-of-place                       "
      "in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw "
      "  busbw "
      "#wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s) "
      " "
      "(GB/s)\n"
      "     1048576        262144     float     sum      -1    203.2    5.16    9.68      0    207.2    5.06 "
      "   9.49  "
      "    0\n"
      "     2097152        524288     float     sum      -1    254.0    8.26   15.48      0    252.9    8.29 "
      "  15.55  "
      "    0\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth    : 70.742\n";
  const ImportedTimes times = read_tables({.tables = {write("all_reduce.txt", text)}, .base = "h100-sxm-8x"});
  ASSERT_EQ(times.collectives.all_reduce.size(), 2U);
  EXPECT_EQ(times.collectives.all_reduce[0].gpus, 2);
  EXPECT_DOUBLE_EQ(times.collectives.all_reduce[0].bytes, 1 << 20);
  EXPECT_DOUBLE_EQ(times.collectives.all_reduce[0].time_s, 207.2e-6);
  EXPECT_DOUBLE_EQ(times.collectives.all_reduce[1].time_s, 252.9e-6);
  const ImportedTimes gathers = read_tables(
      {.tables = {write("x.txt", "> ./build/all_gather_perf -b 8\n" + text)}, .base = "h100-sxm-8x"});
  EXPECT_EQ(gathers.collectives.all_gather.size(), 2U);
  EXPECT_THROW(read_tables({.tables = {write("y.txt", text)}, .base = "h100-sxm-8x"}), InputError);
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

// 2 x 16 x 4096 x 1024 operations at 134.217728 TFLOP/s take 1 us.
TEST_F(Import, ReadsGemmsOfVllmWithAndWithoutTheUnitOfTriton) {
  std::filesystem::create_directories(folder_ / "bench_fp8_res_n4096_k1024");
  const std::string header = "batch_size,torch-bf16,fp8-tensor-w-tensor-a,fp8-tensor-w-tensor-a-noquant";
  const std::string with_unit =
      "batch_size,torch-bf16 (TFLOP/s (larger is better)),fp8-tensor-w-tensor-a (TFLOP/s (larger is better)),"
      "fp8-tensor-w-tensor-a-noquant (TFLOP/s (larger is better))";
  for (const std::string& first : {header, with_unit}) {
    const std::string path = write("bench_fp8_res_n4096_k1024/BF16 vs FP8 GEMMs.csv",
                                   first + "\n16.0,134.217728,99,268.435456\n32.0,100,99,100\n");
    const ImportedTimes times = read_tables({.tables = {path}});
    ASSERT_EQ(times.gemms.size(), 4U);
    const GemmPoint& half = times.gemms[0];
    const GemmPoint& fp8 = times.gemms[1];
    EXPECT_EQ(half.m, 16);
    EXPECT_EQ(half.n, 4096);
    EXPECT_EQ(half.k, 1024);
    EXPECT_NEAR(half.time_s, 1e-6, 1e-11);
    EXPECT_NEAR(fp8.time_s, 0.5e-6, 1e-11);
    EXPECT_EQ(half.weight_bytes_per_element, 2);
    EXPECT_EQ(fp8.weight_bytes_per_element, 1);
    EXPECT_EQ(times.versions, std::set<std::string>{"vLLM's bench_fp8_gemm.py"});
  }
  EXPECT_EQ(error_of(header + "\n16,1,1,1\n"),
            "table.csv: a table of vLLM's GEMMs outside of its folder, whose name gives N and K, allowed: "
            "bench_fp8_res_nN_kK/");
}

}  // namespace
}  // namespace kvcap::calibration::import_test
