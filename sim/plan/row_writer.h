// Puts rows into a results file behind the back of whoever makes them: until one transaction is on the disk
// the next rows gather, so that workers do not wait for the disk.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "plan/results_file.h"

namespace kvcap {

class RowWriter {
 public:
  // While it lives, the file is its own.
  explicit RowWriter(ResultsFile& file);
  // What has been given is on the disk then, unless the disk refuses.
  ~RowWriter();
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // Throws what the disk has refused before.
  void put(std::vector<PointRow> rows);
  // Returns when all rows are on the disk.
  void finish();

 private:
  void write();

  ResultsFile& file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<PointRow> rows_;  // that have to be written
  bool is_writing_ = false;
  bool ends_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace kvcap
