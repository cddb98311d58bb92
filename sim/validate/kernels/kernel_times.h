// One measured kernel beside the time that a shipped profile gives it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workload/logs/csv.h"

namespace kvcap {

struct KernelTime {
  std::string profile;
  std::string regime;  // of the profile's errors (spec/machine_errors.h)
  std::string source;  // the program that measured
  double modelled_s = 0, measured_s = 0;
  bool fitted = false;  // the profile was fitted to this row
  std::string part;     // of the regime, for tables

  double error() const { return std::abs(modelled_s / measured_s - 1); }
  double log_ratio() const { return std::log(measured_s / modelled_s); }
};

using TakeKernelRow = std::function<void(const CsvRow& row, const std::vector<double>& numbers)>;

// Rows of the table `path`: the first `texts` columns as text, the others as numbers.
void for_each_kernel_row(const std::string& path, const std::vector<CsvColumn>& columns, std::size_t texts,
                         const TakeKernelRow& take);

inline int64_t whole(double number) { return static_cast<int64_t>(number); }

}  // namespace kvcap
