// Imports kernel times from files of other programs into a hardware profile, for a device or a kernel
// library that was not calibrated. The columns determine the kind of a table:
//
//   GEMMs        m (or tokens), n, k; dtype (float32, float16, bfloat16, fp8, nvfp4; absent: bfloat16)
//   collectives  op (all_reduce, all_gather, all_to_all or alltoall), num_gpus (or gpus), bytes
//   attention    q_heads and kv_heads (or q_kv_heads, "32/8"), new_tokens (or isl; absent: decode), and
//                cached_tokens (or ctx, cached_kv); batch and head_dim (absent: 1 and 128)
//
// Each row has the time of one call in time_s, t_ms or t_us. Other columns are ignored. AIConfigurator's
// tables of GEMMs, attention, NCCL and custom all-reduces (latency, in milliseconds) and the output of
// nccl-tests are read as they are, as are the CSV files of vLLM's bench_fp8_gemm.py.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibration/sweeps/sweeps.h"
#include "spec/hardware_profile.h"

namespace kvcap::calibration {

struct ImportOptions {
  std::vector<std::string> tables;
  std::string base;  // path or catalogue name of the profile that supplies all other parts
  std::string name;  // name of the new profile; empty: name of the base
  // Imports only rows whose columns have these values.
  std::vector<std::pair<std::string, std::string>> where;
  bool smooth = false;  // GEMMs as a fitted smooth_max per number format, instead of a table
};

// The kernel times of the tables.
struct ImportedTimes {
  std::vector<GemmPoint> gemms;
  std::vector<AttentionTime> attention;
  Collectives collectives;
  std::set<std::string> versions;           // "VLLM 0.24.0 on NVIDIA H200", where rows say so
  std::map<std::string, int64_t> left_out;  // rows that no profile can hold, by reason
  std::set<std::string> selected;           // columns of ImportOptions::where
};

// Reads the tables. Throws InputError for an unusable file or row, with file, line, column and value.
ImportedTimes read_tables(const ImportOptions& options);

// Returns the profile as text. Each imported part carries notes: its number of rows, and the held-out error
// on every second shape.
std::string import_profile(const ImportOptions& options);

}  // namespace kvcap::calibration
