// kvcap-calibrate's profile and twin on a GPU machine that is not there: what is measured is what the machine
// states.
#include "calibration/profile.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "calibration/machine_facts.h"
#include "calibration/twin.h"
#include "gpu/machine.h"

namespace kvcap::calibration::gpu_profile_test {
namespace {

namespace fs = std::filesystem;

class OnStandIn : public testing::Test {
 protected:
  OnStandIn() {
    std::string pattern = (fs::temp_directory_path() / "kvcap-gpu.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~OnStandIn() override { fs::remove_all(folder_); }

  static std::unique_ptr<Backend> backend_on(const gpu::Machine& machine) {
    gpu::set_machine(machine);
    std::string why;
    std::unique_ptr<Backend> backend = make_cuda_backend(&why);
    EXPECT_TRUE(backend) << why;
    return backend;
  }
  ProfileOptions toy() const {
    ProfileOptions options;
    options.out = folder_ / "toy.json";
    options.quick = true;
    options.check = false;
    options.budgets = {.gemm_s = 2,
                       .attention_s = 1e-3,
                       .elementwise_s = 3,
                       .copies_s = 3,
                       .elementwise_tokens = 16,
                       .copy_bytes = 16 << 20,
                       .cold_caches = 0.01};
    return options;
  }

  fs::path folder_;
};

TEST_F(OnStandIn, AProfileFindsWhatTheMachineStatesAndAStoppedRunGoesOn) {
  const gpu::Machine machine{.devices = 2, .memory_bytes = int64_t{400} << 20, .most_computed_flops = 0};
  const std::unique_ptr<Backend> backend = backend_on(machine);
  const Measurements measured = measure_machine(*backend, toy());
  const NotedProfile noted = make_profile(measured, "toy");
  const HardwareProfile& profile = noted.profile;
  EXPECT_EQ(profile.gpu.name, machine.name);
  EXPECT_EQ(profile.gpu.count, 2);
  // A copy: 5 us and 10 GB/s; launched one by one a kernel waits 4 us for the host, in a graph it takes 2 us.
  EXPECT_NEAR(profile.pcie.h2d_bandwidth_bytes_per_s, machine.host_bytes_per_s, 1e8);
  EXPECT_NEAR(profile.pcie.d2h_bandwidth_bytes_per_s, machine.host_bytes_per_s, 1e8);
  EXPECT_NEAR(profile.pcie.request_overhead_s, machine.copy_s, 5e-7);
  EXPECT_NEAR(measured.launches.eager_kernel.time_s, machine.launch_s, 1e-7);
  EXPECT_NEAR(measured.launches.graph_kernel.time_s, machine.kernel_s, 1e-7);
  EXPECT_NEAR(profile.gpu.peak_flops, machine.flops_per_s, 0.02 * machine.flops_per_s);
  EXPECT_NEAR(profile.gpu.memory_bandwidth_bytes_per_s, machine.memory_bytes_per_s, 0.02 * 60e9);
  ASSERT_TRUE(profile.nvlink.has_value());
  EXPECT_NEAR(profile.nvlink->bandwidth_bytes_per_s, machine.peer_bytes_per_s, 1e8);
  EXPECT_NEAR(profile.nvlink->latency_s, machine.all_reduce_s, 1e-7);
  int64_t in_float8 = 0, in_blocks = 0;
  for (const GemmTime& time : measured.gemms.times) {
    const bool narrow = time.format == Format::float8;
    in_float8 += narrow && time.scaling == Scaling::tensor ? 1 : 0;
    in_blocks += narrow && time.scaling == Scaling::blocks ? 1 : 0;
    const double flops_s =
        2.0 * static_cast<double>(time.m * time.n * time.k) / (machine.flops_per_s * (narrow ? 2 : 1));
    const auto bytes =
        static_cast<double>(2 * time.m * time.n + (time.m * time.k + time.n * time.k) * (narrow ? 1 : 2));
    const double stated_s = machine.kernel_s + std::max(flops_s, bytes / machine.memory_bytes_per_s);
    // A batch of calls begins after one launch.
    EXPECT_GE(time.time.time_s, stated_s - 1e-9);
    EXPECT_LE(time.time.time_s, stated_s + machine.launch_s + 1e-9);
  }
  EXPECT_GT(in_float8, 20);
  EXPECT_GT(in_blocks, 3);
  EXPECT_NEAR(profile.gpu.peak_flops_fp8.value_or(0), 2 * machine.flops_per_s, 0.04 * machine.flops_per_s);
  ASSERT_TRUE(profile.gpu.gemm_fp8.has_value());
  EXPECT_NEAR(profile.gpu.gemm_fp8->efficiency, 1, 0.05);
  EXPECT_NE(noted.profile.provenance_source.find("cuBLASLt 13.0.2"), std::string::npos);
  // As after a stop at the end: every point is known.
  const Measurements second = measure_machine(*backend, toy());
  EXPECT_GE(second.resumed_points, static_cast<int64_t>(measured.gemms.times.size()) + 20);
}

TEST_F(OnStandIn, BatchesAreAddedUntilTheMedianIsKnownAndEachBeginsWithAColdCache) {
  const std::unique_ptr<Backend> backend = backend_on({});
  Bench bench(*backend, 4 << 20);
  Effort effort{.max_calls = 1, .cold = true};
  const auto kernels = [](int64_t (*count)(int64_t)) {
    return [count](Stream& stream, int64_t call) {
      for (int64_t i = 0; i < count(call); ++i) stream.empty_kernel();
    };
  };
  const Sample steady = bench.time(kernels([](int64_t) -> int64_t { return 1; }), effort);
  EXPECT_EQ(steady.batches, 5);
  EXPECT_EQ(gpu::memsets(), 5);
  EXPECT_NEAR(steady.time_s, gpu::machine().launch_s + gpu::machine().kernel_s, 4e-6) << "without the flush";
  EXPECT_EQ(bench.time(kernels([](int64_t call) { return 1 + call % 2; }), effort).batches, 15);
  EXPECT_EQ(gpu::memsets(), 20);
  bench.allow_more_batches(false);
  EXPECT_EQ(bench.time(kernels([](int64_t call) { return 1 + call % 2; }), effort).batches, 5);
  bench.allow_more_batches(true);
  effort.half_width = 1;
  EXPECT_EQ(bench.time(kernels([](int64_t call) { return 1 + call % 2; }), effort).batches, 5);
  effort.cold = false;
  bench.time(kernels([](int64_t) -> int64_t { return 1; }), effort);
  EXPECT_EQ(gpu::memsets(), 30);
}

TEST_F(OnStandIn, ABudgetStopsAProfileBetweenTwoPoints) {
  const std::unique_ptr<Backend> backend = backend_on({.most_computed_flops = 0});
  ProfileOptions options = toy();
  options.budgets.gemm_s = 0.2;
  options.budget_s = 0.2;
  std::string text;
  try {
    measure_machine(*backend, options);
  } catch (const BudgetSpent& spent) {
    text = spent.what();
  }
  EXPECT_TRUE(text.starts_with("the --budget is spent; not yet measured: ")) << text;
  EXPECT_TRUE(text.ends_with(", ssd, links between GPUs. Run the same command again to continue")) << text;
  options.budget_s.reset();
  const Measurements whole = measure_machine(*backend, options);
  EXPECT_GT(whole.resumed_points, 0);
  EXPECT_GT(whole.gemms.times.size(), 3U);
}

TEST_F(OnStandIn, AKernelThatFailsCostsItsRow) {
  const std::unique_ptr<Backend> backend = backend_on({});
  std::vector<std::string> failures;
  Journal journal(folder_ / "j", "one kernel fails");
  Progress progress;
  Bench bench(*backend);
  const Budgets budgets;
  const Sweep sweep{bench, journal, progress, false, budgets, &failures};
  int calls = 0;
  const auto row = [&](int64_t rows) {
    return Point{"rows/" + std::to_string(rows),
                 [&, rows] {
                   return bench.time(
                       [&, rows](Stream& stream, int64_t) {
                         if (rows == 2 && ++calls == 3)
                           throw BackendError("CUDA: rms_norm: invalid argument");
                         stream.empty_kernel();
                       },
                       {.batches = 3}, Launch::graph);
                 },
                 [](const Sample&) {}};
  };
  EXPECT_EQ(run_points(sweep, "rows", {row(1), row(2), row(3)}, 10), 0);
  EXPECT_EQ(failures, std::vector<std::string>{"not measured: rows/2: CUDA: rms_norm: invalid argument"});
  EXPECT_TRUE(journal.has("rows/3"));
  EXPECT_FALSE(journal.has("rows/2"));
}

TEST_F(OnStandIn, ABrokenDeviceEndsTheRunAndTheJournalIsOfThisVeryDevice) {
  const std::unique_ptr<Backend> backend = backend_on({.uuid_byte = 0x1f});
  EXPECT_EQ(backend->info().uuid, "GPU-1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f");
  Journal journal(folder_ / "j", "a fault");
  Progress progress;
  Bench bench(*backend);
  std::vector<std::string> failures;
  const Budgets budgets;
  const Sweep sweep{bench, journal, progress, false, budgets, &failures};
  const Point fault{"fault",
                    [&]() -> Sample {
                      gpu::break_device("an illegal memory access was encountered");
                      bench.stream().empty_kernel();
                      bench.stream().synchronize();
                      return {};
                    },
                    [](const Sample&) {}};
  EXPECT_THROW(run_points(sweep, "faults", {fault}, 10), BackendError);
}

TEST_F(OnStandIn, AnOldDriverIsOneClearLine) {
  gpu::set_machine({.driver_version = 11040, .driver_error = cudaErrorInsufficientDriver});
  std::string why;
  EXPECT_FALSE(make_cuda_backend(&why));
  EXPECT_EQ(
      why,
      "CUDA driver version is insufficient for CUDA runtime version (the driver supports CUDA 11.4, this "
      "program was built with 12.8: install a newer driver, or build with CUDA 11.4)");
  gpu::set_machine({.devices = 0});
  EXPECT_FALSE(make_cuda_backend(&why));
  EXPECT_EQ(why, "no device");
}

TEST_F(OnStandIn, ADeviceThatRunsNoKernelIsOneClearLine) {
  gpu::set_machine({.capability = 75, .kernels_before_fault = 0});
  std::string why;
  EXPECT_FALSE(make_cuda_backend(&why));
  EXPECT_EQ(
      why,
      "NVIDIA Stand-In (sm_75) runs no kernel of this program (CUDA: stream: unspecified launch failure); "
      "CMAKE_CUDA_ARCHITECTURES lists what it is built for");
}

TEST_F(OnStandIn, TheNumaNodeAndTheLinksOfGpusAreRead) {
  fs::create_directories(folder_ / "0000:3b:00.0");
  std::ofstream(folder_ / "0000:3b:00.0" / "numa_node") << "1\n";
  fs::create_directories(folder_ / "0000:3c:00.0");
  std::ofstream(folder_ / "0000:3c:00.0" / "numa_node") << "-1\n";
  EXPECT_EQ(numa_text("0000:3B:00.0", folder_), "NUMA node 1");
  EXPECT_EQ(numa_text("0000:3C:00.0", folder_), "");
  EXPECT_EQ(numa_text("0000:3D:00.0", folder_), "");
  const std::string topology =
      "\t\033[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\033[0m\n"
      "GPU0\t X \tNV18\tSYS\tPIX\t0-23\t0\n"
      "GPU1\tNV18\t X \tPHB\tSYS\t0-23\t0\n"
      "GPU2\tSYS\tPHB\t X \tSYS\t24-47\t1\n"
      "NIC0\tPIX\tSYS\tSYS\t X \n";
  const auto all_but_0_2 = [](int64_t from, int64_t to) { return from + to != 2; };
  EXPECT_EQ(
      links_text(topology, 3, all_but_0_2),
      "links between GPUs: GPU0 X NV18 SYS (no peer access), GPU1 NV18 X PHB, GPU2 SYS (no peer access) "
      "PHB X");
  EXPECT_EQ(links_text("", 2, all_but_0_2), "links between GPUs: GPU0 X ?, GPU1 ? X");
  // Without colours, the line of column names begins like the row of the first GPU.
  EXPECT_EQ(links_text("\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV12\tSYS\nGPU1\tNV12\t X \tSYS\n", 2, all_but_0_2),
            "links between GPUs: GPU0 X NV12, GPU1 NV12 X");
  EXPECT_EQ(backend_on({.devices = 3})->info().notes.back(),
            "links between GPUs: GPU0 X ? ?, GPU1 ? X ? (no peer access), GPU2 ? ? (no peer access) X");
}

TEST_F(OnStandIn, TheDriversWordsOnTheDeviceAreRecorded) {
  const fs::path driver = folder_ / "nvidia-smi";
  std::ofstream(driver) << "#!/bin/sh\n"
                           "case $3 in\n"
                           "  *pcie.link.width*) echo 8 ;;\n"
                           "  *mig.mode*) echo Disabled ;;\n"
                           "  *clocks.sm*) echo 1980, 2619, 41, 88.5 ;;\n"
                           "  *throttle*) echo 0x0000000000000004 ;;\n"
                           "  *) echo 'not a valid field to query.'; exit 2 ;;\n"
                           "esac\n";
  fs::permissions(driver, fs::perms::owner_all);
  const std::string path = getenv("PATH");
  setenv("PATH", (folder_.string() + ":" + path).c_str(), 1);
  const std::unique_ptr<Backend> backend = backend_on({});
  const DeviceInfo info = backend->info();
  const DeviceState state = backend->state();
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(info.notes.back(), "PCIe lanes 8, MIG Disabled");
  EXPECT_EQ(state.clock_hz, 1980e6);
  EXPECT_EQ(state.power_w, 88.5);
  EXPECT_EQ(state.throttling, "0x0000000000000004");
}

class TwinOnStandIn : public OnStandIn {
 protected:
  // Computes no products, which would be most of the time.
  static gpu::Machine fast() { return {.most_computed_flops = 0, .zeros = true}; }
  TwinTable twin(const gpu::Machine& machine) {
    return write_twin(*backend_on(machine), {.out = folder_ / "twin.json", .quick = true});
  }
  std::string text(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // How often the table has the text.
  int64_t count(const std::string& sign) const {
    int64_t times = 0;
    const std::string json = text("twin.json");
    for (std::size_t at = json.find(sign); at != std::string::npos; at = json.find(sign, at + 1)) ++times;
    return times;
  }
};

TEST_F(TwinOnStandIn, PerformsEveryPolicyAndACaseThatFailsCostsItsRow) {
  const TwinTable whole = twin(fast());
  EXPECT_EQ(whole.plan.cases.size(), 16U);
  EXPECT_EQ(failures_of(whole), std::vector<std::string>());
  for (const std::vector<double>& times_s : whole.mean_ttft_s) {
    ASSERT_EQ(times_s.size(), 2U);
    EXPECT_GT(times_s[0], 0);
  }
  gpu::Machine failing = fast();
  failing.failing_rows = 146;
  const TwinTable part = twin(failing);
  EXPECT_EQ(part.resumed, 0) << "a complete run is finished";
  EXPECT_EQ(part.failed(), 4);  // those that compute 130 + 16 tokens at once
  for (std::size_t i = 0; i < part.failures.size(); ++i) {
    const bool failed = !part.failures[i].empty();
    EXPECT_EQ(part.failures[i].starts_with("cuBLASLt: no algorithm for 146 x "), failed);
    EXPECT_EQ(part.mean_ttft_s[i].size(), failed ? 0U : 2U) << i;
  }
  EXPECT_EQ(count("{\"policy\""), 16 - part.failed());
  EXPECT_EQ(count("failed: "), part.failed());
  const TwinTable rest = twin(fast());
  EXPECT_EQ(rest.resumed, 2 * (16 - part.failed()));
  EXPECT_EQ(rest.failed(), 0);
  EXPECT_EQ(count("{\"policy\""), 16);
}

TEST_F(TwinOnStandIn, ABudgetStopsItBetweenTwoRepeats) {
  const std::unique_ptr<Backend> backend = backend_on(fast());
  try {
    write_twin(*backend, {.out = folder_ / "twin.json", .quick = true, .budget_s = 1e-9});
    FAIL();
  } catch (const BudgetSpent& spent) {
    EXPECT_STREQ(
        spent.what(),
        "the --budget is spent; not yet measured: 31 of 32 repeats. Run the same command again to continue");
  }
  EXPECT_FALSE(fs::exists(folder_ / "twin.json"));
}

TEST_F(TwinOnStandIn, AWrongResultCostsItsRow) {
  const TwinTable table = twin({.most_computed_flops = 0});  // outputs stay NaN
  EXPECT_GT(table.failed(), 8);
  EXPECT_EQ(table.failures[0], "wrong result: a logit is not finite");
}

TEST_F(TwinOnStandIn, WithoutMemoryForItsModelACaseFailsAndTheDeviceGoesOn) {
  const TwinTable table = twin({.memory_bytes = 8 << 20});
  EXPECT_EQ(table.failed(), 16);
  EXPECT_EQ(table.failures[15], "CUDA: device memory: out of memory");
  EXPECT_EQ(count("failed: "), 16);
}

TEST_F(TwinOnStandIn, ADeviceFaultEndsTheRun) {
  gpu::Machine faulty = fast();
  faulty.kernels_before_fault = 400;
  EXPECT_THROW(twin(faulty), BackendError);
  EXPECT_FALSE(fs::exists(folder_ / "twin.json"));
  EXPECT_NE(text("twin.json.measurements.jsonl").find("\"key\":\"recompute/"), std::string::npos);
}

}  // namespace
}  // namespace kvcap::calibration::gpu_profile_test
