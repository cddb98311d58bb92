// Runs a sweep as Slurm job arrays, one task per shard. Slurm does not restart a killed task, so run_on_slurm
// submits another array for the shards that have not finished. sbatch reads the partition, account, time
// limit and memory of the tasks from SBATCH_* environment variables.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace kvcap {

struct SlurmArray {
  std::vector<std::string> arguments;  // kvcap arguments of a task; "--shard I/N" is appended
  std::size_t shards = 1;
  std::string folder;     // folder of the script and the logs of the tasks; must exist
  int at_most = 4;        // maximum number of arrays to submit, including the first
  double patience_s = 2;  // time between two squeue calls
};

// Submits arrays and waits until every shard has finished or `at_most` arrays have run. Returns the
// unfinished shards. Throws InputError if sbatch is missing or fails.
std::vector<std::size_t> run_on_slurm(const SlurmArray& array,
                                      const std::function<bool(std::size_t shard)>& has_ended);

// slurm_script() returns the script for sbatch, slurm_list() the shards in the form of --array: "0-3,7".
std::string slurm_script(const SlurmArray& array, const std::string& program);
std::string slurm_list(const std::vector<std::size_t>& shards);

}  // namespace kvcap
