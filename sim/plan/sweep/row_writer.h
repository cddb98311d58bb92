// Puts rows into a results file, many in one transaction: after each, rows gather for ten times as long as it
// took, so that a slow disk delays what workers get to do by a tenth at most.
//
// No thread does this behind the back of who makes the rows: that process forks its workers, and a fork
// copies the locks that another thread holds.
#pragma once

#include <chrono>
#include <vector>

#include "plan/sweep/results_file.h"

namespace kvcap {

class RowWriter {
 public:
  // While it lives, the file is its own.
  explicit RowWriter(ResultsFile& file) : file_(file) {}
  // What has been given is on the disk then, unless the disk refuses.
  ~RowWriter();
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // Throws what the disk refuses.
  void put(std::vector<PointRow> rows);
  // Returns when all rows are on the disk.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  ResultsFile& file_;
  std::vector<PointRow> rows_;  // that have to be written
  Clock::time_point next_{};    // not before then
};

}  // namespace kvcap
