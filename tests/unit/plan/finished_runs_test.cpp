#include "plan/sweep/finished_runs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace kvcap::finished_runs_test {
namespace {

namespace fs = std::filesystem;

class FinishedRun : public testing::Test {
 protected:
  FinishedRun() : out_(testing::TempDir() + "kvcap_finished_" + std::to_string(getpid())) {
    fs::remove_all(out_);
  }
  ~FinishedRun() override { fs::remove_all(out_); }

  std::string get(const FinishedRuns& runs, const std::string& key, const std::string& result) {
    return runs.get(key, [&] {
      ++computed_;
      return result;
    });
  }

  std::string out_;
  int computed_ = 0;
};

TEST_F(FinishedRun, IsTakenByAResumeAndByNothingElse) {
  const FinishedRuns first(out_, false);
  EXPECT_EQ(get(first, "a", std::string("one\0two", 7)), std::string("one\0two", 7));
  const FinishedRuns resumed(out_, true);
  EXPECT_EQ(get(resumed, "a", "other"), std::string("one\0two", 7));
  EXPECT_EQ(computed_, 1);
  EXPECT_EQ(get(resumed, "b", "another"), "another");
  EXPECT_EQ(get(FinishedRuns(out_, false), "a", "anew"), "anew");
  EXPECT_EQ(computed_, 3);
  resumed.discard();
  EXPECT_FALSE(fs::exists(out_ + "/.finished"));
  EXPECT_EQ(get(resumed, "a", "after"), "after");
}

TEST_F(FinishedRun, ThatIsCutShortIsComputedAgain) {
  get(FinishedRuns(out_, false), "a", "a long result");
  const fs::path file = *fs::directory_iterator(out_ + "/.finished");
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_EQ(get(FinishedRuns(out_, true), "a", "anew"), "anew");
}

TEST_F(FinishedRun, WithoutAFolderIsNotKept) {
  const FinishedRuns runs("", true);
  EXPECT_EQ(get(runs, "a", "one"), "one");
  EXPECT_EQ(get(runs, "a", "two"), "two");
  EXPECT_EQ(runs.hint(), "");
}

}  // namespace
}  // namespace kvcap::finished_runs_test
