// Runs the points of a sweep, each simulation in a forked worker, and puts what they give into a results
// file as they end. A point that fails is a row that says why, and stops no other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/sweep/sweep.h"

namespace kvcap {

// Of the different points of a sweep every `count`th, from `index` on.
struct Shard {
  std::size_t index = 0;
  std::size_t count = 1;
};

// A sweep whose points have all been found good.
struct CheckedSweep {
  const Sweep& sweep;
  std::vector<std::string> keys;     // of each point
  std::vector<int32_t> runs;         // replications of each point
  std::vector<std::size_t> first;    // one point for each different key, in order
  std::vector<std::size_t> readers;  // one point for each file
};

// Resolves every point and reads every file that they name. Throws InputError for the first bad one.
CheckedSweep check_sweep(const Sweep& sweep, int at_once);

struct SweepOptions {
  int at_once = 0;           // workers; 0: one a core
  bool resume = false;       // the file may be there; what it has is not computed again, but for failures
  Shard shard;               // the others' points are left out
  std::string cache_folder;  // of points finished by any sweep; empty: none
};

// Counts of different points, but for `points`.
struct SweepSummary {
  std::size_t points = 0;
  std::size_t different = 0;
  std::size_t had = 0;     // in the file before
  std::size_t cached = 0;  // in the cache
  std::size_t ok = 0, failed = 0, timed_out = 0;
  std::size_t strange = 0;  // rows in the file before that this sweep does not ask for
  std::string first_error;
  double wall_s = 0;        // from the first worker's start to the last one's end
  double worker_cpu_s = 0;  // user and system time of all workers
};

// Throws InputError where the file is there and `resume` is not set or another process is writing it,
// Interrupted, and std::system_error when the disk refuses.
SweepSummary run_sweep(const CheckedSweep& checked, const std::string& results_path,
                       const SweepOptions& options);

// Merges the results files of shards into one. Returns the points without a row, in order.
std::vector<std::size_t> collect_shards(const CheckedSweep& checked, const std::vector<std::string>& shards,
                                        const std::string& results_path);

// True when the file has a row for each of the shard's points.
bool shard_has_ended(const CheckedSweep& checked, const Shard& shard, const std::string& results_path);

}  // namespace kvcap
