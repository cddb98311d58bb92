#include "calibration/profile.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "calibration/fit.h"
#include "calibration/journal.h"
#include "scenario/load.h"
#include "unit/process.h"
#include "unit/programs.h"
#include "unit/shell_word.h"

namespace kvcap::calibration::profile_test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class InFolder : public testing::Test {
 protected:
  InFolder() {
    std::string pattern = (fs::temp_directory_path() / "kvcap-profile.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~InFolder() override { fs::remove_all(folder_); }

  fs::path folder_;
};

using JournalOf = InFolder;
using Profile = InFolder;

constexpr auto kNever = []() -> Sample {
  ADD_FAILURE() << "measured again";
  return {};
};

TEST_F(JournalOf, AStoppedRunGoesOnWhereItWas) {
  const fs::path path = folder_ / "j";
  {
    Journal first(path, "this machine");
    first.sample("a", [] { return Sample{2e-6, 2e-6, 1e-6, 0.1, 5}; });
  }
  std::ofstream(path, std::ios::app) << R"({"key":"b","med)";  // stopped in the middle of a line
  {
    Journal second(path, "this machine");
    EXPECT_EQ(second.resumed(), 1);
    EXPECT_DOUBLE_EQ(second.sample("a", kNever).time_s, 2e-6);
    second.sample("b", [] { return Sample{3e-6, 3e-6, 3e-6, 0, 5}; });
  }
  Journal third(path, "this machine");
  EXPECT_EQ(third.resumed(), 2);
  EXPECT_DOUBLE_EQ(third.sample("b", kNever).median_s, 3e-6);
}

TEST_F(JournalOf, ABudgetEndsBeforeANewPointButAfterOne) {
  const auto one = [] { return Sample{1, 1, 1, 0, 1}; };
  Journal journal(folder_ / "j", "this machine");
  journal.stop_at(end_of(1e-9));
  journal.sample("a", one);
  EXPECT_THROW(journal.sample("b", kNever), BudgetSpent);
  EXPECT_DOUBLE_EQ(journal.sample("a", kNever).time_s, 1);
  Journal next(folder_ / "j", "this machine");
  next.stop_at(end_of(1e-9));
  next.sample("b", one);
  EXPECT_THROW(next.sample("c", kNever), BudgetSpent);
  next.stop_at(end_of(1000));
  next.sample("c", one);
}

TEST_F(JournalOf, SamplesKeepTheirIntervalsAndDates) {
  const fs::path path = folder_ / "j";
  Journal(path, "this machine").sample("a", [] { return Sample{2, 2, 1, 0.1, 9, 1.5, 2.5}; });
  EXPECT_EQ(Journal(path, "this machine").sample("a", kNever).half_width(), 0.25);
  std::string text = text_of(path);
  const std::size_t at = text.find("\"date\":\"") + 8;
  const std::string today = text.substr(at, 10);
  EXPECT_EQ(Journal(path, "this machine").dates(), "on " + today);
  std::ofstream(path, std::ios::trunc) << text.replace(at, 10, "2024-02-29");
  Journal later(path, "this machine");
  EXPECT_EQ(later.dates(), "on 2024-02-29");
  later.sample("b", [] { return Sample{1, 1, 1, 0, 1}; });
  EXPECT_EQ(later.dates(), "from 2024-02-29 to " + today);
}

TEST_F(JournalOf, AMachineThatIsSharedSpeaksInMinima) {
  Journal journal(folder_ / "j", "shared", true);
  EXPECT_DOUBLE_EQ(journal.sample("a", [] { return Sample{2e-6, 2e-6, 1e-6, 0.1, 5}; }).time_s, 1e-6);
  Journal again(folder_ / "j", "shared", true);
  EXPECT_DOUBLE_EQ(again.sample("a", kNever).time_s, 1e-6);
}

TEST_F(JournalOf, AnotherMachineOrAFinishedRunBeginsAnewAndErasesNothing) {
  const fs::path path = folder_ / "j";
  {
    Journal first(path, "this machine");
    first.sample("a", [] { return Sample{1, 1, 1, 0, 1}; });
  }
  {
    Journal other(path, "another machine");
    EXPECT_EQ(other.resumed(), 0);
    EXPECT_EQ(other.kept(), folder_ / "j.1");
    other.sample("a", [] { return Sample{2, 2, 2, 0, 1}; });
    other.finish();
  }
  const Journal again(path, "another machine");
  EXPECT_EQ(again.resumed(), 0);
  EXPECT_FALSE(again.has("a"));
  EXPECT_EQ(again.kept(), folder_ / "j.2");
  EXPECT_NE(text_of(folder_ / "j.1").find("\"median_s\":1.0"), std::string::npos);
  EXPECT_NE(text_of(folder_ / "j.2").find("\"median_s\":2.0"), std::string::npos);
}

// Everything at sizes that take a second.
ProfileOptions toy(const fs::path& folder) {
  ProfileOptions options;
  options.out = folder / "toy.json";
  options.ssd = folder;
  options.quick = true;
  options.budgets = {.gemm_s = 0.4,
                     .attention_s = 0.1,
                     .elementwise_s = 0.1,
                     .copies_s = 0.2,
                     .disk_s = 0.2,
                     .elementwise_tokens = 16,
                     .copy_bytes = 1 << 20,
                     .disk_bytes = 4 << 20,
                     .cold_caches = 0.01};
  return options;
}

TEST_F(Profile, AMeasuredCpuIsAMachineThatTheSimulatorLoads) {
  const ProfileOptions options = toy(folder_);
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  const NotedProfile written = write_profile(*cpu, options);
  const HardwareProfile loaded = load_hardware(options.out.string());
  EXPECT_EQ(loaded.provenance_kind, "measured");
  EXPECT_NEAR(loaded.gpu.peak_flops / written.profile.gpu.peak_flops, 1, 1e-3);
  EXPECT_GT(loaded.gpu.peak_flops, 1e8);
  EXPECT_LE(loaded.gpu.gemm.efficiency, 1);
  EXPECT_GT(loaded.pcie.h2d_bandwidth_bytes_per_s, 1e7);
  ASSERT_TRUE(loaded.ssd.has_value());
  EXPECT_GT(loaded.ssd->read_bandwidth_bytes_per_s, 1e5);
  EXPECT_FALSE(loaded.ssd->gpu_direct);
  // The profile and its journal, and nothing that was written to the disk for measuring.
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("toy.json")) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 2);
}

TEST_F(Profile, AnUnfinishedRunLeavesNoProfileAndIsNotMeasuredAgain) {
  const ProfileOptions options = toy(folder_);
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  const Measurements first =
      measure_machine(*cpu, options);  // as far as a run that was stopped before its end
  EXPECT_FALSE(fs::exists(options.out));
  const Measurements second = measure_machine(*cpu, options);
  EXPECT_EQ(first.resumed_points, 0);
  EXPECT_GT(second.resumed_points, 30);
  // The second run may find time for points that the first left out; what the first measured stands.
  ASSERT_FALSE(first.copies.empty());
  ASSERT_GE(second.copies.size(), first.copies.size());
  for (std::size_t i = 0; i < first.copies.size(); ++i) {
    EXPECT_EQ(first.copies[i].way, second.copies[i].way);
    EXPECT_DOUBLE_EQ(first.copies[i].time.median_s, second.copies[i].time.median_s);
  }
}

bool says(const std::vector<std::string>& notes, const std::string& text) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

std::string refusal_of(const Measurements& measured) {
  try {
    make_profile(measured, "refused");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no refusal";
}

TEST_F(Profile, WhatThereWasNoTimeForIsNotedOrRefused) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  const ProfileOptions options = toy(folder_);
  Measurements measured = measure_machine(*cpu, options);
  // Another machine's journal holds none of the points.
  Journal journal(folder_ / "j", "a machine without time");
  Progress progress;
  Bench bench(*cpu);
  Budgets budgets = options.budgets;
  budgets.elementwise_s = budgets.copies_s = budgets.disk_s = -1;
  const Sweep sweep{bench, journal, progress, false, budgets};
  Measurements none;
  none.copies = sweep_copies(sweep, &none.copy_notes);
  none.elementwise = sweep_elementwise(sweep, &none.elementwise_notes);
  none.disk = sweep_disk(sweep, folder_);
  EXPECT_TRUE(none.copies.empty());
  EXPECT_EQ(none.copy_notes, std::vector<std::string>{"copies: 25 of 25 points left out for time"});

  measured.copy_notes = none.copy_notes;
  measured.elementwise_notes = none.elementwise_notes;
  measured.disk->notes = none.disk->notes;
  const NotedProfile noted = make_profile(measured, "noted");
  EXPECT_TRUE(says(noted.pcie_notes, "left out for time"));
  EXPECT_TRUE(says(noted.elementwise_notes, "left out for time"));
  EXPECT_TRUE(says(noted.ssd_notes, "left out for time"));

  Measurements without = measured;
  without.copies = none.copies;
  EXPECT_EQ(refusal_of(without), "pcie: too few copies ended in the time given; is the machine busy?");
  without = measured;
  without.elementwise = none.elementwise;
  EXPECT_EQ(refusal_of(without),
            "elementwise: too few kernels ended in the time given; is the machine busy?");
  without = measured;
  without.disk = none.disk;
  EXPECT_EQ(refusal_of(without), "--ssd: too few transfers ended in the time given; is the machine busy?");
  without = measured;
  without.gemms.times.clear();
  EXPECT_EQ(refusal_of(without), "gemm: too few GEMMs ended in the time given; is the machine busy?");
}

// What a driver states may be less than what a machine does.
TEST_F(Profile, ANoteSaysWhetherTheBandwidthIsTheVendorsOrWasMeasured) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  Measurements measured = measure_machine(*cpu, toy(folder_));
  const auto says_vendor = [&](double nominal_bytes_per_s) {
    measured.info.nominal_bandwidth_bytes_per_s = nominal_bytes_per_s;
    return says(make_profile(measured, "noted").gpu_notes, "the vendor's clock times width");
  };
  EXPECT_TRUE(says_vendor(1e15));
  EXPECT_FALSE(says_vendor(1));
}

// Activations stay in the cache: 64 MiB of them through 64 KiB of weights are no measure of the memory.
TEST_F(Profile, MemoryIsNotAsFastAsActivationsInTheCache) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  Measurements measured = measure_machine(*cpu, toy(folder_));
  const auto bandwidth_with = [&](int64_t m, int64_t n, int64_t k) {
    Measurements more = measured;
    const auto elements = static_cast<double>(m * k + n * k + m * n);
    const double time_s = elements * static_cast<double>(bytes_of(measured.info.formats.front())) / 1e15;
    more.gemms.times.push_back(
        {measured.info.formats.front(), Launch::graph, m, n, k, {.time_s = time_s, .median_s = time_s}});
    return make_profile(more, "more").profile.gpu.memory_bandwidth_bytes_per_s;
  };
  EXPECT_LT(bandwidth_with(4096, 8, 4096), 1e14);
  EXPECT_NEAR(bandwidth_with(8, 4096, 4096), 1e15, 1e9);
}

TEST_F(Profile, ADiskThatCannotBeUsedIsRefusedBeforeAnythingIsMeasured) {
  ProfileOptions options = toy(folder_);
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  options.ssd = folder_ / "none";
  EXPECT_THROW(write_profile(*cpu, options), InputError);
  options.ssd = folder_;
  options.budgets.disk_bytes = int64_t{1} << 60;
  EXPECT_THROW(write_profile(*cpu, options), InputError);
  EXPECT_TRUE(fs::is_empty(folder_));
}

// Four devices in a ring of 200 GB/s, 9 us a sum. Without GPUs here its sums are the host's.
class RingOfFour : public Collective {
 public:
  explicit RingOfFour(float fault = 0) : fault_(fault) {}
  int64_t devices() const override { return 4; }
  int64_t most_bytes() const override { return 64 << 20; }
  std::string library() const override { return "a ring"; }
  double all_reduce_s(int64_t bytes, int) override {
    return 9e-6 + 2 * 3.0 / 4 * static_cast<double>(bytes) / 200e9;
  }
  std::vector<std::vector<float>> all_reduce(std::vector<std::vector<float>> values) override {
    std::vector<float> sum(values.front().size(), 0);
    for (const std::vector<float>& own : values) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
    }
    values.assign(values.size(), sum);
    values[2][77] += fault_;
    return values;
  }

 private:
  float fault_;
};

TEST(AllReduce, ASumThatOneDeviceHasWrongIsSeen) {
  RingOfFour right;
  EXPECT_TRUE(check_all_reduce(right).right());
  RingOfFour wrong(1.0F / 64);
  EXPECT_FALSE(check_all_reduce(wrong).right());
  RingOfFour nothing(std::numeric_limits<float>::quiet_NaN());
  EXPECT_FALSE(check_all_reduce(nothing).right());
}

TEST_F(Profile, SumsOverSeveralDevicesGiveTheLinkOfTensorParallelism) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  Journal journal(folder_ / "j", "a ring");
  Progress progress;
  Bench bench(*cpu);
  const Budgets budgets{.copy_bytes = 1 << 30};
  RingOfFour ring;
  Measurements measured;
  measured.all_reduces = sweep_all_reduce({bench, journal, progress, true, budgets}, ring);
  ASSERT_EQ(measured.all_reduces->times.size(), 7U);  // 8 KiB, 32 KiB, ... 32 MiB
  const FittedLink link = fit_all_reduce(*measured.all_reduces);
  EXPECT_NEAR(link.bytes_per_s, 200e9, 1e6);
  EXPECT_NEAR(link.fixed_s, 9e-6, 1e-9);
}

// A machine that was measured as fast as the samples say, with a table of every shape.
TEST(ProfileJson, ATableIsOneLineAPointAndLoads) {
  NotedProfile noted;
  noted.profile.name = "table";
  noted.profile.provenance_kind = "measured";
  noted.profile.provenance_source = "a test";
  noted.profile.gpu = {
      .name = "GPU", .peak_flops = 1e15, .memory_bytes = 8e10, .memory_bandwidth_bytes_per_s = 3e12};
  noted.profile.gpu.gemm = {.model = EfficiencyModel::table,
                            .points = {{1, 64, 32, 1e-6}, {2, 64, 32, 1.5e-6}}};
  noted.profile.pcie = {5e10, 5e10, 3e-6};
  noted.gemm_notes = {"a note"};
  const std::string json = profile_json(noted);
  EXPECT_NE(json.find("{\"m\":2,\"n\":64,\"k\":32,\"time_s\":1.5e-06}"), std::string::npos) << json;
  const fs::path path = fs::temp_directory_path() / ("kvcap-table-" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << json;
  const HardwareProfile loaded = load_hardware(path.string());
  fs::remove(path);
  ASSERT_EQ(loaded.gpu.gemm.points.size(), 2U);
  EXPECT_DOUBLE_EQ(loaded.gpu.gemm.points[1].time_s, 1.5e-6);
}

int exit_code(const std::string& arguments, const fs::path& errors) {
  const int status =
      shell_status(shell_word(calibrate_program()) + " " + arguments + " >/dev/null 2>" + shell_word(errors));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Profile, TheProgramNamesWhatItWasGiven) {
  const fs::path errors = folder_ / "errors";
  EXPECT_EQ(exit_code("profile --backend cup --out x.json", errors), 2);
  EXPECT_EQ(text_of(errors),
            "kvcap-calibrate: --backend: found \"cup\", allowed: auto, cuda, cpu; did you mean \"cpu\"?\n");
  EXPECT_EQ(exit_code("profile --backend cpu --ssd /nowhere --out " + shell_word(folder_ / "x.json"), errors),
            2);
  EXPECT_EQ(text_of(errors), "kvcap-calibrate: --ssd: found \"/nowhere\", which is no folder\n");
  EXPECT_EQ(exit_code("profile --backend cpu --out /nowhere/x.json", errors), 2);
  EXPECT_EQ(exit_code("check --backend cpu", errors), 0);
}

}  // namespace
}  // namespace kvcap::calibration::profile_test
