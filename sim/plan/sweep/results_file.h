// ResultsFile: the results of a sweep in one SQLite file. Every transaction is synced to disk when it ends,
// so that a killed process, a full disk or a power cut loses no row for which put() has returned. Not
// thread-safe.
//
//   points   one row per distinct finished point: key, status, error, scenario, one column per metric,
//            intervals, notes, quality_note, build
//   swept    one row per point of the sweep: point (from 0), key, one column per swept path
//   results  a view: swept joined with points; status is null for points that have not finished
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

// A value of an SQL column.
using Cell = std::variant<std::monostate, int64_t, double, std::string>;

class ResultsFile {
 public:
  // Creates the file if it does not exist. If the file is not a results file of this version, throws
  // InputError and leaves the file unchanged. All members throw std::system_error on I/O errors.
  explicit ResultsFile(const std::string& path);
  // Opens the file in the given mode instead of the mode that suits the file system.
  ResultsFile(const std::string& path, JournalMode mode);
  ~ResultsFile();
  ResultsFile(const ResultsFile&) = delete;
  ResultsFile& operator=(const ResultsFile&) = delete;

  struct SweptPoint {
    std::size_t point;
    std::string key;
    std::vector<std::string> values;  // JSON, one per path; "": not set
  };
  // Replaces the points of the sweep; results of other points stay.
  void set_swept(const std::vector<std::string>& paths, std::size_t points,
                 const std::function<SweptPoint(std::size_t)>& point);

  // Writes the rows in one transaction; a row replaces the row with the same key. Also throws if the file was
  // moved or removed.
  void put(const std::vector<PointRow>& rows);
  // Copies the rows of another file for the points of set_swept(), except for points of which this file
  // already has a successful row.
  void take_from(const std::string& path);

  // Returns the status of each point that this build of the program has finished, by key.
  std::map<std::string, PointStatus> ended() const;
  // Returns the keys of all rows, of every build.
  std::vector<std::string> keys() const;

  using OnRow = std::function<void(const std::vector<std::string>& columns, const std::vector<Cell>& row)>;
  // Calls `on_row` for the rows of the view `results`, in order of their points.
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

// Reads the view `results` of a file of any build or version, without writing to the file or creating its
// -wal and -shm; `rows` is the total number of rows. Throws InputError if the file is not a results file with
// points.
using OnResult =
    std::function<void(const std::vector<std::string>& columns, const std::vector<Cell>& row, int64_t rows)>;
void read_results(const std::string& path, const OnResult& on_result);

}  // namespace kvcap
