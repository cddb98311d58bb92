// Tables of kernel times that other programs write: one reader a file, a row of them in tables.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/import.h"

namespace kvcap::calibration {

// One row of a table; values are looked up by column name.
class TableRow {
 public:
  TableRow(const std::string& path, int64_t line, const std::vector<std::string>& columns,
           std::vector<std::string> fields);

  bool has(const std::string& column) const { return find(column) != nullptr; }
  const std::string& text(const std::string& column) const;
  double number(const std::string& column, double least = 0) const;
  int64_t integer(const std::string& column, int64_t least = 1) const;
  // Returns the first of the names that is a column; empty if none is.
  std::string first_of(const std::vector<std::string>& names) const;
  // Of the column time_s, t_ms or t_us.
  double time_s() const;
  [[noreturn]] void refuse(const std::string& column, const std::string& allowed) const;
  const std::string& at() const { return at_; }

 private:
  const std::string* find(const std::string& column) const;

  std::string at_;
  const std::vector<std::string>& columns_;
  std::vector<std::string> fields_;
};

// Adds the time of a collective, "all_reduce" or "allreduce", or counts it in left_out if it is not
// simulated.
void add_collective(const std::string& op, const CollectivePoint& point, ImportedTimes* times);

// Adds the row's time, or counts it in left_out.
using AddRow = void (*)(const TableRow& row, ImportedTimes* times);

// The names of the tables, and which of their rows are wanted.
std::string files_text(const ImportOptions& options);

// The rows of this project's own kinds (import.h). Null: the columns are of no such table.
AddRow own_table(const TableRow& row);
// The tables of AIConfigurator's collector, latency in milliseconds: GEMMs, attention of prompts and of
// decoding, collectives.
AddRow aiconfigurator_table(const TableRow& row);

// What NVIDIA's nccl-tests print: starts with # and has a line of columns "size count type ...".
bool is_nccl_tests(const std::string& text);
// Returns it as a table of collectives in CSV; the columns are "op", "num_gpus", "bytes" and "t_us".
std::string csv_of_nccl_tests(const std::string& path, const std::string& text);

// What vLLM's bench_fp8_gemm.py writes: TFLOP/s of kernels by number of rows, one file for each shape, which
// the name of its folder states.
bool is_vllm_gemms(const std::string& text);
// Returns it as a table of GEMMs in CSV, without the columns that include the quantisation of activations.
std::string csv_of_vllm_gemms(const std::string& path, const std::string& text);

}  // namespace kvcap::calibration
