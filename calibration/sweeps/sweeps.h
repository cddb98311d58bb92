// Sweeps: the measurements of each part of the machine, and their results as plain records. The list of
// points of each part is thinned in advance to fit its time budget. Samples go through the journal, so that a
// stopped run can be resumed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibration/backend.h"
#include "calibration/disk.h"
#include "calibration/journal.h"
#include "calibration/measure.h"
#include "calibration/models.h"
#include "calibration/progress.h"

namespace kvcap::calibration {

// Time per part in seconds, and the largest sizes to measure.
struct Budgets {
  double gemm_s = 200;
  double attention_s = 60;
  double elementwise_s = 10;
  double copies_s = 45;
  double disk_s = 90;
  int64_t elementwise_tokens = 16384;
  int64_t copy_bytes = 1 << 30;
  int64_t disk_bytes = int64_t{4} << 30;
  // Size of the pool that operands rotate through, to be cold, in multiples of the device's cache.
  double cold_caches = 4;
};
Budgets quick_budgets();

inline int64_t cold_bytes(const Budgets& budgets, const DeviceInfo& info) {
  return static_cast<int64_t>(budgets.cold_caches * info.cache_bytes);
}

struct GemmTime {
  Format format = Format::float32;
  Launch launch = Launch::graph;
  int64_t m = 0, n = 0, k = 0;
  Sample time;
  Scaling scaling = Scaling::tensor;  // of float8
};

struct AttentionTime {
  Format format = Format::float32;
  int64_t batch = 1, new_tokens = 0, cached_tokens = 0;  // new_tokens 1: decode
  int64_t query_heads = 0, kv_heads = 0, head_dim = 0;
  Sample time;
};

struct ElementwiseTime {
  std::string operation;  // rms_norm, silu_multiply, add, rope, snapshot
  double bytes = 0;       // bytes read plus bytes written
  Sample time;
};

struct CopyTime {
  std::string way;  // "h2d pinned", "d2h pageable", "both ways", ...
  double bytes = 0;
  Sample time;
};

struct DiskTime {
  bool reading = false;
  bool random = false;
  int64_t chunk_bytes = 0;
  int depth = 1;
  Sample time;  // per chunk: elapsed time over chunks moved
};

struct GemmSweep {
  std::vector<GemmTime> times;
  int64_t shapes = 0;        // shapes that the models need
  int64_t shapes_taken = 0;  // measured shapes, each with all row counts that fit the time
  std::vector<std::string> notes;
};

struct Launches {
  Sample eager_kernel, graph_kernel;  // time per empty kernel
};

struct HostMemory {
  double copy_bandwidth_bytes_per_s = 0;  // bytes read plus bytes written, sum over all threads
  int64_t threads = 1;
};

struct DiskSweep {
  DiskInfo info;
  std::string way;  // io_uring or pread, and why
  bool direct = false;
  std::vector<DiskTime> times;
  std::optional<double> sync_write_s;  // median of small writes, each followed by a sync
  std::optional<double> direct_to_device_bytes_per_s;
  std::vector<std::string> notes;
};

// The arguments of every sweep.
struct Sweep {
  Bench& bench;
  Journal& journal;
  Progress& progress;
  bool thorough = true;  // more batches per point
  const Budgets& budgets;
  // Takes what a point throws, so that the others are measured; null: run_points() throws it.
  std::vector<std::string>* failures = nullptr;

  int64_t cold_bytes() const { return calibration::cold_bytes(budgets, bench.backend().info()); }
};

// One measurement: `key` is its name in the journal, `run` measures it, and `keep` stores the sample, whether
// it is new or from the journal.
struct Point {
  std::string key;
  std::function<Sample()> run;
  std::function<void(const Sample&)> keep;
};

// Runs the points in order and returns the number left out. Once 1.5 `budget_s` have passed, only points that
// are in the journal are kept.
int64_t run_points(const Sweep& sweep, const std::string& what, const std::vector<Point>& points,
                   double budget_s);
// Calls run_points() and adds a note with the number of points left out, if any.
void run_noted_points(const Sweep& sweep, const std::string& what, const std::vector<Point>& points,
                      double budget_s, std::vector<std::string>* notes);

GemmSweep sweep_gemms(const Sweep& sweep);
std::vector<AttentionTime> sweep_attention(const Sweep& sweep, double flops_per_s,
                                           std::vector<std::string>* notes);
std::vector<ElementwiseTime> sweep_elementwise(const Sweep& sweep, std::vector<std::string>* notes);
Launches sweep_launches(const Sweep& sweep);
std::vector<CopyTime> sweep_copies(const Sweep& sweep, std::vector<std::string>* notes);
HostMemory sweep_host_memory(const Sweep& sweep, int64_t bytes);
DiskSweep sweep_disk(const Sweep& sweep, const std::filesystem::path& folder);

// All-reduce times over several devices, from 8 KiB to the largest size that the library's buffers hold.
struct AllReduceSweep {
  int64_t devices = 0;
  std::string library;
  std::vector<CopyTime> times;  // bytes: size of one device's vector
  std::vector<std::string> notes;
};
AllReduceSweep sweep_all_reduce(const Sweep& sweep, Collective& collective);

// Measures the time of a copy of `bytes` bytes within the device's memory.
Sample time_device_copy(const Sweep& sweep, int64_t bytes);

}  // namespace kvcap::calibration
