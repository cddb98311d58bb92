// Data that are not part of the project: where they are looked for, what is said where they are missing, and
// what stands in for them.
#include "scenario/data_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/input_error.h"
#include "scenario/load.h"
#include "unit/scenario_samples.h"
#include "workload/workload.h"

namespace kvcap::data_files_test {
namespace {

namespace fs = std::filesystem;

class DataFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = std::getenv("KVCAP_DATA")) before_ = before;
    unsetenv("KVCAP_DATA");
    folder_ = fs::temp_directory_path() / ("kvcap_data_" + std::to_string(getpid()));
    fs::create_directories(folder_ / "project/scenarios");
  }
  void TearDown() override {
    if (before_.empty()) {
      unsetenv("KVCAP_DATA");
    } else {
      setenv("KVCAP_DATA", before_.c_str(), 1);
    }
    fs::remove_all(folder_);
  }

  // A file of one session, whose prompt tells which one it is.
  void write(const std::string& path, int input_tokens) const {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << R"({"id":1,"turns":[{"input_tokens":)" << input_tokens
                                  << R"(,"output_tokens":1,"arrival_s":0}]})";
  }
  Scenario load(const std::string& source) const {
    const std::string text = R"({"schema": "kvcap.scenario/1", "model": )" + sample_model() +
                             R"(, "hardware": )" + sample_hardware() + R"(, "workload": {"source": )" +
                             source + "}}";
    return parse_scenario(text, (folder_ / "project/scenarios/s.json").string(), {});
  }
  uint32_t tokens_of(const std::string& source) const {
    return make_workload(load(source).workload, 1).turns[0].input_tokens;
  }
  std::string error_of(const std::string& source) const {
    try {
      load(source);
      return "";
    } catch (const InputError& error) {
      std::string text = error.what();
      for (std::size_t at; (at = text.find(folder_.string() + "/")) != std::string::npos;) {
        text.erase(at, folder_.string().size() + 1);
      }
      return text;
    }
  }

  std::string before_;
  fs::path folder_;
};

constexpr const char* kSource = R"({"kind": "sessions", "path": "$KVCAP_DATA/traces/x.jsonl"})";

TEST_F(DataFiles, LieInTheDataFolderNearestAboveTheScenario) {
  write("shared/data/traces/x.jsonl", 1);
  EXPECT_EQ(tokens_of(kSource), 1u);
  write("project/data/traces/x.jsonl", 2);
  EXPECT_EQ(tokens_of(kSource), 2u);
  write("project/scenarios/data/traces/x.jsonl", 3);
  EXPECT_EQ(tokens_of(kSource), 3u);
}

TEST_F(DataFiles, LieWhereTheVariableSaysAndNowhereElse) {
  write("project/data/traces/x.jsonl", 2);
  write("mine/traces/x.jsonl", 4);
  setenv("KVCAP_DATA", (folder_ / "mine").c_str(), 1);
  EXPECT_EQ(tokens_of(kSource), 4u);
  fs::remove(folder_ / "mine/traces/x.jsonl");
  EXPECT_EQ(
      error_of(kSource),
      "project/scenarios/s.json: workload.source.path: found \"$KVCAP_DATA/traces/x.jsonl\", no such file; "
      "KVCAP_DATA is \"mine\" (scenarios/data.md)");
}

TEST_F(DataFiles, ThatAreMissingAreRefusedWithTheirSource) {
  const std::string error = error_of(R"({"kind": "sessions", "path": "$KVCAP_DATA/traces/leval.jsonl"})");
  EXPECT_EQ(
      error,
      "project/scenarios/s.json: workload.source.path: found \"$KVCAP_DATA/traces/leval.jsonl\", no such "
      "file; KVCAP_DATA, the folder of data that are not part of kvcap, is not set and no data folder "
      "in the scenario's folder or above it contains the file; its source is "
      "https://github.com/OpenLMLab/LEval, made from the files of LEval-data with: kvcap trace convert "
      "TASK.jsonl FILE --format leval "
      "(scenarios/data.md)");
}

TEST_F(DataFiles, ThatAreMissingHaveAStandInOnlyWhereTheScenarioSaysSo) {
  const std::string source =
      R"({"kind": "mooncake", "path": "$KVCAP_DATA/traces/x.jsonl", "stand_in": "../traces/small.jsonl"})";
  write("project/traces/small.jsonl", 5);
  const Scenario scenario = load(source);
  EXPECT_EQ(make_workload(scenario.workload, 1).turns[0].input_tokens, 5u);
  ASSERT_EQ(scenario.notes.size(), 1u);
  EXPECT_EQ(scenario.notes[0],
            "STAND-IN DATA: $KVCAP_DATA/traces/x.jsonl does not exist, ../traces/small.jsonl is read "
            "instead; these "
            "results are not those of the real data (workload.source.stand_in; scenarios/data.md)");
  // The resolved scenario still asks for the real data.
  EXPECT_NE(scenario.resolved_json.find("$KVCAP_DATA/traces/x.jsonl"), std::string::npos);

  std::ofstream(folder_ / "project/scenarios/x.jsonl")
      << R"({"timestamp": 0, "input_length": 7, "output_length": 1, "hash_ids": [0]})";
  fs::create_directories(folder_ / "project/data/traces");
  fs::rename(folder_ / "project/scenarios/x.jsonl", folder_ / "project/data/traces/x.jsonl");
  const Scenario real = load(source);
  EXPECT_EQ(make_workload(real.workload, 1).turns[0].input_tokens, 7u);
  EXPECT_TRUE(real.notes.empty());
}

// A stand-in is short; what the scenario asks of the whole file is no error.
TEST_F(DataFiles, ThatStandInMayHaveFewerTimestampsThanAreAsked) {
  write("project/traces/small.jsonl", 5);
  WorkloadOptions options =
      load(R"({"kind": "sessions", "path": "../traces/none.jsonl", "stand_in": "../traces/small.jsonl"})")
          .workload;
  options.arrivals.process = ArrivalProcess::trace;
  options.sessions = 50;
  EXPECT_EQ(make_workload(options, 1).sessions.size(), 1u);
}

// Whoever has a checkout and nothing else can run every scenario that is shipped with it.
TEST_F(DataFiles, OfShippedScenariosHaveStandIns) {
  setenv("KVCAP_DATA", (folder_ / "empty").c_str(), 1);
  int stand_ins = 0;
  for (const auto& entry : fs::recursive_directory_iterator(KVCAP_SOURCE_DIR "/scenarios")) {
    const bool is_study = entry.path().parent_path().filename() == "studies";
    if (entry.path().extension() != ".json" || is_study) continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find("\"kvcap.scenario/1\"") == std::string::npos ||
        text.find("\"path\"") == std::string::npos) {
      continue;
    }
    const Scenario scenario = parse_scenario(text, entry.path().string(), {});
    EXPECT_FALSE(make_workload(scenario.workload, 1).sessions.empty()) << entry.path();
    stand_ins += scenario.workload.source.stands_in;
  }
  EXPECT_EQ(stand_ins, 5);
}

}  // namespace
}  // namespace kvcap::data_files_test
