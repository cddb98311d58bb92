// A sweep as Slurm job arrays, a task a shard. Slurm does not start a task again that was killed, so whoever
// waits for an array submits another one of the shards that have not ended. Partition, account, time and
// memory of the tasks are sbatch's own business: it reads them from SBATCH_* variables.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace kvcap {

struct SlurmArray {
  std::vector<std::string> arguments;  // of kvcap, for a task; "--shard I/N" is added
  std::size_t shards = 1;
  std::string folder;     // of the script and the tasks' logs; exists
  int at_most = 4;        // arrays, the first one and those that follow it
  double patience_s = 2;  // between two looks at the queue
};

// Submits and waits until each shard has ended or `at_most` arrays have. Returns the shards that have not.
// Throws InputError when there is no sbatch or it refuses.
std::vector<std::size_t> run_on_slurm(const SlurmArray& array,
                                      const std::function<bool(std::size_t shard)>& has_ended);

// The file that sbatch runs, and "0-3,7": the shards as --array takes them.
std::string slurm_script(const SlurmArray& array, const std::string& program);
std::string slurm_list(const std::vector<std::size_t>& shards);

}  // namespace kvcap
