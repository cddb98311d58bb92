// kvcap-calibrate twin as a program, at toy sizes.
#include "calibration/twin.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "unit/process.h"
#include "unit/programs.h"
#include "unit/shell_word.h"

namespace kvcap::calibration::twin_test {
namespace {

namespace fs = std::filesystem;

class TwinProgram : public testing::Test {
 protected:
  TwinProgram() {
    std::string pattern = (fs::temp_directory_path() / "kvcap-twin.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    fs::create_directory(folder_ / "ssd");
  }
  ~TwinProgram() override { fs::remove_all(folder_); }

  // Exit code; stdout and stderr are in folder_/out and folder_/err.
  int run(const std::string& command) {
    const std::string line =
        command + " >" + shell_word(folder_ / "out") + " 2>" + shell_word(folder_ / "err");
    return WEXITSTATUS(shell_status(line));
  }
  int twin(const std::string& more) {
    return run(shell_word(calibrate_program()) + " twin --backend cpu --quick --out " +
               shell_word(folder_ / "toy.json") + more);
  }
  std::string text(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(TwinProgram, PerformsEveryPolicyAndLeavesNothingBehind) {
  ASSERT_EQ(twin(" --ssd " + shell_word(folder_ / "ssd")), 0) << text("err");
  EXPECT_TRUE(fs::is_empty(folder_ / "ssd"));
  const auto table = nlohmann::json::parse(text("toy.json"));
  EXPECT_EQ(table["schema"], "kvcap.twin/1");
  EXPECT_EQ(table["hardware"], "toy");
  EXPECT_EQ(table["cases"].size(), 30U);  // recomputation, and 7 ways on 2 tiers, for 1 and 2 at once
  for (const auto& one : table["cases"]) {
    EXPECT_EQ(one["mean_ttft_s"]["repeats"].size(), 2U);
    EXPECT_GT(one["mean_ttft_s"]["minimum"], 0);
    EXPECT_LE(one["mean_ttft_s"]["minimum"], one["mean_ttft_s"]["median"]);
    const auto& options = one["options"];
    EXPECT_EQ(options.value("partial_efficiency", 0), one["policy"] == "cacheblend" ? 1 : 0);
    EXPECT_EQ(options.contains("prefetch"), one["policy"] == "hyperinfer");
    EXPECT_FALSE(options.value("prefetch", false));
  }
}

TEST_F(TwinProgram, TheSimulatorPredictsEveryCaseAndSaysWhatItCannotKeep) {
  ASSERT_EQ(twin(" --ssd " + shell_word(folder_ / "ssd")), 0) << text("err");
  // Not this machine: it predicts, and the promise is broken.
  EXPECT_EQ(run(shell_word(kvcap_program()) + " validate --hardware h100-sxm --twin " +
                shell_word(folder_ / "toy.json")),
            3)
      << text("err");
  EXPECT_NE(text("err").find("toy.median_error"), std::string::npos);
  EXPECT_NE(text("out").find("toy.ranking"), std::string::npos);
}

TEST_F(TwinProgram, AStoppedRunGoesOnAndRepeatsNothing) {
  ASSERT_EQ(twin(""), 0) << text("err");
  const fs::path journal = folder_ / "toy.json.measurements.jsonl";
  std::string lines = text(journal.filename());
  lines = lines.substr(0, lines.find("{\"finished\""));
  std::ofstream(journal, std::ios::trunc) << lines;
  const std::string before = text("toy.json");
  ASSERT_EQ(twin(""), 0) << text("err");
  EXPECT_EQ(text("toy.json"), before) << "every repeat was there already";
}

TEST_F(TwinProgram, ABudgetStopsItAndTheSameCallContinues) {
  EXPECT_EQ(twin(" --budget 0"), 2);
  EXPECT_EQ(text("err"), "kvcap-calibrate: --budget: found 0, allowed: seconds above 0\n");
  EXPECT_EQ(twin(" --budget 1e-9"), 130);
  EXPECT_EQ(text("err"),
            "kvcap-calibrate: the --budget is spent; not yet measured: 31 of 32 repeats. Run the same "
            "command again "
            "to continue\n");
  EXPECT_FALSE(fs::exists(folder_ / "toy.json"));
  EXPECT_EQ(twin(" --budget 1000"), 0) << text("err");
}

TEST(TwinPlanOf, AGpuPerformsModelsSizesTiersAndNumbersOfRequests) {
  const DeviceInfo gpu{.backend = "cuda"};
  const TwinPlan plan = twin_plan(gpu, false, true);
  // (6 + 4 + 4) sizes, each recomputation and 7 ways on 2 tiers.
  EXPECT_EQ(plan.cases.size(), 14U * 15U);
  std::set<std::string> ids, models;
  std::set<int64_t> tokens, requests;
  for (const TwinCase& one : plan.cases) {
    ids.insert(id_of(one));
    models.insert(one.model);
    tokens.insert(one.tokens);
    requests.insert(one.requests);
  }
  EXPECT_EQ(ids.size(), plan.cases.size()) << "every case once";
  EXPECT_EQ(models,
            (std::set<std::string>{"llama-2-13b-8-layers", "llama-2-7b-8-layers", "llama-3-8b-8-layers"}));
  EXPECT_EQ(tokens, (std::set<int64_t>{512, 2048, 8192, 16384}));
  EXPECT_EQ(requests, (std::set<int64_t>{1, 2, 4}));
  EXPECT_EQ(twin_plan(gpu, false, false).cases.size(), 14U * 8U);
}

TEST_F(TwinProgram, RefusesFoldersThatCannotBeUsed) {
  EXPECT_EQ(twin(" --ssd " + shell_word(folder_ / "nowhere")), 2);
  EXPECT_NE(text("err").find("--ssd"), std::string::npos);
  EXPECT_EQ(run(shell_word(calibrate_program()) + " twin --backend cpu --quick --out " +
                shell_word(folder_ / "nowhere" / "toy.json")),
            2);
  EXPECT_FALSE(fs::exists(folder_ / "toy.json"));
}

TEST_F(TwinProgram, AGpuPerformsTheSame) {
  const int code = run(shell_word(calibrate_program()) + " twin --backend cuda --quick --out " +
                       shell_word(folder_ / "toy.json"));
  if (code == 2) GTEST_SKIP() << "no GPU was tested: " << text("err");
  EXPECT_EQ(code, 0) << text("err");
}

}  // namespace
}  // namespace kvcap::calibration::twin_test
