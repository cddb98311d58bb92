// What kvcap-calibrate writes over: what it has written, and nothing else.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "unit/process.h"

namespace kvcap::calibration::outputs_test {
namespace {

namespace fs = std::filesystem;

class CalibrateOutputs : public testing::Test {
 protected:
  CalibrateOutputs() : folder_(fs::temp_directory_path() / ("kvcap_outputs_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    write("t.csv", "m,n,k,t_us\n16,4096,4096,20\n");
  }
  ~CalibrateOutputs() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string text_of(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The exit code; errors are in the file "err".
  int calibrate(const std::string& arguments) const {
    const std::string command =
        std::string(KVCAP_CALIBRATE) + " " + arguments + " >" + path("out") + " 2>" + path("err");
    return WEXITSTATUS(shell_status(command));
  }
  int import(const std::string& out, const std::string& base = "l40s") const {
    return calibrate("import " + path("t.csv") + " --base " + base + " --out " + path(out));
  }

  fs::path folder_;
};

TEST_F(CalibrateOutputs, ReplaceAnImportedProfileAndNoOtherFile) {
  ASSERT_EQ(import("mine.json"), 0);
  EXPECT_EQ(import("mine.json"), 0);
  for (const std::string text :
       {"notes", R"({"schema": "kvcap.hardware/1", "provenance": {"source": "a datasheet"}})",
        R"({"schema": "kvcap.hardware/1", "provenance": 3})", R"({"schema": "kvcap.scenario/1"})"}) {
    write("theirs.json", text);
    for (const std::string& command :
         {"import " + path("t.csv") + " --base l40s", std::string("profile"), std::string("twin")}) {
      EXPECT_EQ(calibrate(command + " --out " + path("theirs.json")), 2) << command;
      EXPECT_EQ(text_of("err"),
                "kvcap-calibrate: --out: " + path("theirs.json") +
                    " already exists and was not written by kvcap-calibrate; choose another file or remove "
                    "it\n");
      EXPECT_EQ(text_of("theirs.json"), text);
    }
  }
}

TEST_F(CalibrateOutputs, ReplaceNothingThatTheImportReads) {
  ASSERT_EQ(import("mine.json"), 0);
  fs::create_symlink("mine.json", path("link.json"));
  fs::create_hard_link(path("mine.json"), path("hard.json"));
  const std::string before = text_of("mine.json");
  for (const char* out : {"mine.json", "link.json", "hard.json"}) {
    EXPECT_EQ(import(out, path("mine.json")), 2);
    EXPECT_NE(text_of("err").find("which this command reads"), std::string::npos) << text_of("err");
    EXPECT_EQ(text_of("mine.json"), before);
  }
  EXPECT_EQ(import("t.csv"), 2);
  EXPECT_EQ(text_of("t.csv"), "m,n,k,t_us\n16,4096,4096,20\n");
}

TEST_F(CalibrateOutputs, LeaveAStrangersMeasurementsBesideThem) {
  write("new.json.measurements.jsonl", "mine\n");
  for (const std::string& command :
       {std::string("profile --quick --backend cpu"), std::string("twin --quick --backend cpu")}) {
    EXPECT_EQ(calibrate(command + " --out " + path("new.json")), 2);
    EXPECT_EQ(text_of("new.json.measurements.jsonl"), "mine\n");
    EXPECT_FALSE(fs::exists(path("new.json")));
  }
}

TEST_F(CalibrateOutputs, AreNoneWhereATableIsAPipeWithoutAWriter) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(calibrate("import " + path("pipe") + " --base l40s --out " + path("new.json")), 2);
  EXPECT_EQ(text_of("err"),
            "kvcap-calibrate: " + path("pipe") + ": cannot be read: it is a pipe without a writer\n");
  EXPECT_EQ(calibrate("import " + path("t.csv") + " --base " + path("pipe") + " --out " + path("new.json")),
            2);
  EXPECT_FALSE(fs::exists(path("new.json")));
}

}  // namespace
}  // namespace kvcap::calibration::outputs_test
