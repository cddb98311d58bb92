// The results of a sweep: one SQLite file. Every transaction is on the disk when it is over, so that a
// process that is killed, a full disk or a power cut loses what was not put yet and nothing else. One thread
// at a time may use it.
//
//   points   one row a different point that has ended: key, status, error, scenario, one column a metric,
//            intervals, notes, quality_note, build
//   swept    one row a point of the sweep: point (from 0), key, one column a swept path
//   results  a view: swept with what points has for it; status is null where that is nothing yet
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "plan/sweep/database_file.h"
#include "plan/sweep/point.h"

struct sqlite3;

namespace kvcap {

// A value as SQL has it.
using Cell = std::variant<std::monostate, int64_t, double, std::string>;

class ResultsFile {
 public:
  // Makes the file if there is none. Throws InputError for one that is no results file of this version, of
  // which no byte changes then, and std::system_error, as all that follows, when the disk refuses.
  explicit ResultsFile(const std::string& path);
  // Not in the mode that suits the file system.
  ResultsFile(const std::string& path, JournalMode mode);
  ~ResultsFile();
  ResultsFile(const ResultsFile&) = delete;
  ResultsFile& operator=(const ResultsFile&) = delete;

  struct SweptPoint {
    std::size_t point;
    std::string key;
    std::vector<std::string> values;  // JSON, of each path; "": not set
  };
  // What the sweep asks for; rows of points that it does not ask for stay.
  void set_swept(const std::vector<std::string>& paths, std::size_t points,
                 const std::function<SweptPoint(std::size_t)>& point);

  // In one transaction. A row takes the place of one with its key. Throws as well when the file is no longer
  // where it was.
  void put(const std::vector<PointRow>& rows);
  // Takes over the rows of another file that set_swept() asks for, where this one has no better ones.
  void take_from(const std::string& path);

  // Of the points that have ended in this build of the program.
  std::map<std::string, PointStatus> ended() const;
  // Of all rows, whichever build has written them.
  std::vector<std::string> keys() const;

  using OnRow = std::function<void(const std::vector<std::string>& columns, const std::vector<Cell>& row)>;
  // The view `results` in order of its points.
  void each_result(const OnRow& on_row) const;

 private:
  void make_tables();
  void refuse_if_gone() const;
  void check_columns(const std::string& schema, const std::string& path) const;

  std::string path_;
  JournalMode mode_;
  std::pair<uint64_t, uint64_t> identity_;  // device and inode
  sqlite3* database_ = nullptr;
};

// The same view of a file that may be of another build or version and is not written to, its -wal and -shm
// included; `rows` is how many there are. Throws InputError for what is no results file with points.
using OnResult =
    std::function<void(const std::vector<std::string>& columns, const std::vector<Cell>& row, int64_t rows)>;
void read_results(const std::string& path, const OnResult& on_result);

}  // namespace kvcap
