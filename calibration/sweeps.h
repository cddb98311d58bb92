// What is measured: lists of points per part of the machine, each list thinned beforehand to what fits its
// share of time, and the results as plain records. Points go through the journal, so that a stopped run goes
// on where it was.
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

// Seconds that each part may take, and how large its largest piece may be.
struct Budgets {
  double gemm_s = 200;
  double attention_s = 60;
  double elementwise_s = 10;
  double copies_s = 45;
  double disk_s = 90;
  int64_t elementwise_tokens = 16384;
  int64_t copy_bytes = 1 << 30;
  int64_t disk_bytes = int64_t{4} << 30;
  // What operands rotate through, in caches' sizes, so that they are cold.
  double cold_caches = 4;
};
Budgets quick_budgets();

struct GemmTime {
  Format format = Format::float32;
  Launch launch = Launch::graph;
  int64_t m = 0, n = 0, k = 0;
  Sample time;
};

struct AttentionTime {
  Format format = Format::float32;
  int64_t batch = 1, new_tokens = 0, cached_tokens = 0;  // new_tokens 1: decode
  int64_t query_heads = 0, kv_heads = 0, head_dim = 0;
  Sample time;
};

struct ElementwiseTime {
  std::string operation;  // rms_norm, silu_multiply, add, rope, snapshot
  double bytes = 0;       // read and written
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
  Sample time;  // of one chunk: elapsed over chunks moved
};

struct GemmSweep {
  std::vector<GemmTime> times;
  int64_t shapes = 0;        // that the models need
  int64_t shapes_taken = 0;  // that were measured, at every number of rows that fits the time
  std::vector<std::string> notes;
};

struct Launches {
  Sample eager_kernel, graph_kernel;  // of one empty kernel
};

struct HostMemory {
  double copy_bandwidth_bytes_per_s = 0;  // bytes read and written, all threads together
  int64_t threads = 1;
};

struct DiskSweep {
  DiskInfo info;
  std::string way;  // io_uring or pread, and why
  bool direct = false;
  std::vector<DiskTime> times;
  std::optional<double> sync_write_s;  // median of small writes that are waited for
  std::optional<double> direct_to_device_bytes_per_s;
  std::vector<std::string> notes;
};

// What every sweep needs at hand.
struct Sweep {
  Bench& bench;
  Journal& journal;
  Progress& progress;
  bool thorough = true;  // more batches a point
  const Budgets& budgets;

  int64_t cold_bytes() const {
    return static_cast<int64_t>(budgets.cold_caches * bench.backend().info().cache_bytes);
  }
};

// One measurement: `key` names it in the journal, `run` makes it, `keep` takes its result, of now or of
// before.
struct Point {
  std::string key;
  std::function<Sample()> run;
  std::function<void(const Sample&)> keep;
};

// Runs the points in order. When they take half as long again as `budget_s`, the rest is left out; returns
// how many were.
int64_t run_points(const Sweep& sweep, const std::string& what, const std::vector<Point>& points,
                   double budget_s);
// As above; a note says how many were left out, where any was.
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

// Sums over several devices, of 8 KiB to the most the library's buffers hold.
struct AllReduceSweep {
  int64_t devices = 0;
  std::string library;
  std::vector<CopyTime> times;  // bytes: of one device's vector
  std::vector<std::string> notes;
};
AllReduceSweep sweep_all_reduce(const Sweep& sweep, Collective& collective);

// Bytes per second of a copy within the device's memory, read and written bytes both counted.
Sample time_device_copy(const Sweep& sweep, int64_t bytes);

}  // namespace kvcap::calibration
