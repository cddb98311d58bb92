// RowWriter: writes rows into a results file, many per transaction. After a transaction, it collects rows for
// ten times as long as the transaction took, so that a slow disk delays the sweep by at most a tenth.
//
// It uses no thread, because the calling process forks workers, and a fork copies locks that another thread
// holds.
#pragma once

#include <chrono>
#include <vector>

#include "plan/sweep/results_file.h"

namespace kvcap {

class RowWriter {
 public:
  // REQUIRES: nothing else uses the file during this writer's lifetime.
  explicit RowWriter(ResultsFile& file) : file_(file) {}
  // Writes all remaining rows; ignores errors.
  ~RowWriter();
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // Throws the file's I/O errors.
  void put(std::vector<PointRow> rows);
  // Returns when all rows are on disk. Throws the file's I/O errors.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  ResultsFile& file_;
  std::vector<PointRow> rows_;  // not yet written
  Clock::time_point next_{};    // earliest time of the next transaction
};

}  // namespace kvcap
