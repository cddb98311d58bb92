#include "plan/row_writer.h"

#include <iterator>
#include <utility>

namespace kvcap {

RowWriter::RowWriter(ResultsFile& file) : file_(file), thread_([this] { write(); }) {}

RowWriter::~RowWriter() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RowWriter::put(std::vector<PointRow> rows) {
  {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    rows_.insert(rows_.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
  }
  changed_.notify_all();
}

void RowWriter::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return error_ || (rows_.empty() && !is_writing_); });
  if (error_) std::rethrow_exception(error_);
}

void RowWriter::write() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !rows_.empty(); });
    if (rows_.empty() || error_) return;
    const std::vector<PointRow> rows = std::exchange(rows_, {});
    is_writing_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      file_.put(rows);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    is_writing_ = false;
    error_ = error;
    changed_.notify_all();
    if (error_) return;
  }
}

}  // namespace kvcap
