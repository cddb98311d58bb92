// Tables of kernel times, as CSV files of other programs, into a profile: a user's own device, or a kernel
// library that nobody has fitted yet. What a table holds is told by its columns:
//
//   GEMMs        m (or tokens), n, k; dtype (float32, float16, bfloat16, fp8, nvfp4; absent: bfloat16)
//   collectives  op (all_reduce, all_gather, all_to_all or alltoall), num_gpus (or gpus), bytes
//   attention    q_heads and kv_heads (or q_kv_heads, "32/8"), new_tokens (or isl; absent: decode), and
//                cached_tokens (or ctx, cached_kv); batch and head_dim (absent: 1 and 128)
//
// each with the time of one call in time_s, t_ms or t_us. Other columns are passed over.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibration/sweeps.h"
#include "spec/hardware_profile.h"

namespace kvcap::calibration {

struct ImportOptions {
  std::vector<std::string> tables;
  std::string base;  // a profile by path or by its name in the catalogue: everything that no table has
  std::string name;  // of the new profile; empty: that of the base
  // Only rows whose column has the value.
  std::vector<std::pair<std::string, std::string>> where;
  bool smooth = false;  // GEMMs as a fitted smooth_max, by number format, instead of their points
};

// What the tables hold.
struct ImportedTimes {
  std::vector<GemmPoint> gemms;
  std::vector<AttentionTime> attention;
  Collectives collectives;
};

// Throws InputError for a file or a row that cannot be used: file, line, column, what was found.
ImportedTimes read_tables(const ImportOptions& options);

// The profile's text. Each part that a table gave carries notes: rows, and the error on every second shape
// when only the others are known.
std::string import_profile(const ImportOptions& options);

}  // namespace kvcap::calibration
