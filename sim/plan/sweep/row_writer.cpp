#include "plan/sweep/row_writer.h"

#include <exception>
#include <iterator>
#include <utility>

namespace kvcap {

RowWriter::~RowWriter() {
  try {
    finish();
  } catch (const std::exception&) {
    // A caller that needs the rows on disk calls finish(), which reports errors.
  }
}

void RowWriter::put(std::vector<PointRow> rows) {
  rows_.insert(rows_.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
  if (Clock::now() >= next_) finish();
}

void RowWriter::finish() {
  if (rows_.empty()) return;
  const Clock::time_point began = Clock::now();
  file_.put(std::exchange(rows_, {}));
  const Clock::time_point ended = Clock::now();
  next_ = ended + 10 * (ended - began);
}

}  // namespace kvcap
