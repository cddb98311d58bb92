#include <gtest/gtest.h>

#include "plan/slurm.h"

namespace kvcap {
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

}  // namespace
}  // namespace kvcap
