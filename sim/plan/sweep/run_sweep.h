// Runs the points of a sweep, each simulation in a forked worker, and writes the results to a results file as
// simulations finish. A failed point becomes a row with its error; the other points still run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/sweep/sweep.h"

namespace kvcap {

// A part of a sweep: every `count`th distinct point, starting at `index`.
struct Shard {
  std::size_t index = 0;
  std::size_t count = 1;
};

// A sweep whose points are all valid.
struct CheckedSweep {
  const Sweep& sweep;
  std::vector<std::string> keys;     // one key per point
  std::vector<int32_t> runs;         // replications per point
  std::vector<std::size_t> first;    // the first point with each distinct key, in order
  std::vector<std::size_t> readers;  // for each trace file, one point that reads it
};

// Resolves every point and reads all trace files. Throws InputError for the first invalid one.
CheckedSweep check_sweep(const Sweep& sweep, int at_once);

struct SweepOptions {
  int at_once = 0;           // number of workers; 0: one per core
  bool resume = false;       // continue an existing file: run missing points, and failed points again
  Shard shard;               // the points to run
  std::string cache_folder;  // folder of the PointCache; empty: no cache
};

// Counts of distinct points; only `points` includes duplicates.
struct SweepSummary {
  std::size_t points = 0;
  std::size_t different = 0;
  std::size_t had = 0;     // already in the file
  std::size_t cached = 0;  // found in the cache
  std::size_t ok = 0, failed = 0, timed_out = 0;
  std::size_t strange = 0;  // rows already in the file that do not belong to this sweep
  std::string first_error;
  double wall_s = 0;        // from the start of the first worker to the end of the last
  double worker_cpu_s = 0;  // user and system time of all workers
};

// Runs the points of the shard that the file lacks, and writes their rows. Throws InputError if the file
// exists and `resume` is false, or if another process is writing the file; Interrupted; and std::system_error
// on I/O errors.
SweepSummary run_sweep(const CheckedSweep& checked, const std::string& results_path,
                       const SweepOptions& options);

// Merges the results files of shards into one. Returns the points without a row, in order.
std::vector<std::size_t> collect_shards(const CheckedSweep& checked, const std::vector<std::string>& shards,
                                        const std::string& results_path);

// True iff the file has a row for each of the shard's points.
bool shard_has_ended(const CheckedSweep& checked, const Shard& shard, const std::string& results_path);

}  // namespace kvcap
