// RowWriter: writes rows to a results file, many per transaction. After each transaction, it collects rows
// for ten times as long as the transaction took, so a slow disk delays the sweep by at most a tenth.
//
// It does not use a thread: the calling process forks workers, and a fork would copy locks that the thread
// holds at that moment.
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
