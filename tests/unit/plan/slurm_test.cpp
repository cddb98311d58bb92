#include "plan/sweep/slurm.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/input_error.h"
#include "unit/shell_word.h"

namespace kvcap::slurm_test {
namespace {

TEST(Slurm, TakesShardsAsRanges) {
  EXPECT_EQ(slurm_list({0}), "0");
  EXPECT_EQ(slurm_list({0, 1, 2, 3}), "0-3");
  EXPECT_EQ(slurm_list({0, 2, 3, 7}), "0,2-3,7");
}

TEST(Slurm, RunsAShardATaskWhateverTheNamesOfFiles) {
  const SlurmArray array{.arguments = {"sweep", "/a b/it's.json"}, .shards = 8, .folder = "/tmp"};
  EXPECT_EQ(
      slurm_script(array, "/bin/kvcap"),
      "#!/bin/sh\nexec '/bin/kvcap' 'sweep' '/a b/it'\\''s.json' --shard \"$SLURM_ARRAY_TASK_ID/8\" --jobs "
      "\"${SLURM_CPUS_PER_TASK:-1}\"\n");
}

// A queue of scripts: sbatch notes the array it is asked for, and squeue finds it gone.
class FakeSlurm : public testing::Test {
 protected:
  FakeSlurm()
      : folder_(std::filesystem::temp_directory_path() / ("kvcap_slurm_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    add("sbatch", "for a; do case $a in --array=*) echo \"${a#--array=}\" >> " +
                      shell_word(folder_ / "asked") + ";; esac; done; echo '7;cluster'");
    add("squeue",
        "[ \"$3\" = --jobs=7 ] || exit 3; echo 'slurm_load_jobs error: Invalid job id specified'; exit 1");
    path_ = getenv("PATH");
    setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
  }
  ~FakeSlurm() override {
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  void add(const std::string& name, const std::string& script) const {
    std::ofstream(folder_ / name) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
  }
  std::string asked() const {
    std::ifstream file(folder_ / "asked");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  SlurmArray array() const { return {.arguments = {}, .shards = 4, .folder = folder_.string()}; }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(FakeSlurm, IsAskedForTheMissingShardsThreeMoreTimes) {
  const auto all_but_two = [](std::size_t shard) { return shard != 2; };
  EXPECT_EQ(run_on_slurm(array(), all_but_two), std::vector<std::size_t>{2});
  EXPECT_EQ(asked(), "2\n2\n2\n2\n");
}

TEST_F(FakeSlurm, IsAskedForNothingWhenAllShardsHaveEnded) {
  EXPECT_TRUE(run_on_slurm(array(), [](std::size_t) { return true; }).empty());
  EXPECT_EQ(asked(), "");
}

TEST_F(FakeSlurm, MayRefuse) {
  add("sbatch", "echo 'sbatch: error: invalid partition specified: gpu' >&2; exit 1");
  try {
    run_on_slurm(array(), [](std::size_t) { return false; });
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "--launcher slurm: sbatch: error: invalid partition specified: gpu");
  }
}

}  // namespace
}  // namespace kvcap::slurm_test
