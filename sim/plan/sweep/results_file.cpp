#include "plan/sweep/results_file.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/check.h"
#include "base/input_error.h"

namespace kvcap {
namespace {

constexpr uint32_t kApplicationId = 0x6b766361;  // "kvca"
constexpr int kFormat = 1;
constexpr int kPatience_ms = 5'000;  // longest wait while another process holds the lock

[[noreturn]] void fail(sqlite3* database, const std::string& path) {
  const int code = database ? sqlite3_errcode(database) : SQLITE_NOMEM;
  const std::string what = database ? sqlite3_errmsg(database) : "out of memory";
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
    throw InputError(path + ": is not a sweep results file: " + what);
  }
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
    throw InputError(path + ": is locked by another program; end that program, or choose another folder");
  }
  if (database && sqlite3_extended_errcode(database) == SQLITE_READONLY_ROLLBACK) {
    throw InputError(path +
                     ": a sweep was stopped while it wrote this file; kvcap sweep --resume repairs it");
  }
  const int cause = database ? sqlite3_system_errno(database) : 0;
  const int fallback = code == SQLITE_FULL ? ENOSPC : EIO;
  throw std::system_error(cause != 0 ? cause : fallback, std::generic_category(), path + ": " + what);
}

std::string sql_quoted(const std::string& name) {
  std::string text = "\"";
  for (char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

class Statement {
 public:
  Statement(sqlite3* database, const std::string& path, const std::string& sql)
      : database_(database), path_(path) {
    if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK)
      kvcap::fail(database, path);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Bind parameters from left to right.
  void bind_null() { check(sqlite3_bind_null(statement_, ++bound_)); }
  void bind(int64_t value) { check(sqlite3_bind_int64(statement_, ++bound_, value)); }
  void bind(double value) { check(sqlite3_bind_double(statement_, ++bound_, value)); }  // NaN becomes null
  void bind(bool value) { bind(int64_t{value}); }
  void bind(const std::string& text) {
    check(sqlite3_bind_text(statement_, ++bound_, text.c_str(), static_cast<int>(text.size()),
                            SQLITE_TRANSIENT));
  }
  void bind_or_null(const std::string& text) { text.empty() ? bind_null() : bind(text); }

  // Returns true if there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) kvcap::fail(database_, path_);
    return code == SQLITE_ROW;
  }
  void run() {
    while (step()) {
    }
    sqlite3_reset(statement_);
    bound_ = 0;
  }

  int columns() const { return sqlite3_column_count(statement_); }
  std::string name(int column) const { return sqlite3_column_name(statement_, column); }
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)))
                 : "";
  }
  Cell cell(int column) const {
    switch (sqlite3_column_type(statement_, column)) {
      case SQLITE_NULL:
        return {};
      case SQLITE_INTEGER:
        return integer(column);
      case SQLITE_FLOAT:
        return sqlite3_column_double(statement_, column);
      default:
        return text(column);
    }
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK) kvcap::fail(database_, path_);
  }

  sqlite3* database_;
  const std::string& path_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

// A transaction. The destructor rolls it back unless it was committed.
class Transaction {
 public:
  Transaction(sqlite3* database, const std::string& path) : database_(database), path_(path) {
    Statement(database, path, "BEGIN IMMEDIATE").run();
  }
  ~Transaction() {
    if (!committed_) sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    Statement(database_, path_, "COMMIT").run();
    committed_ = true;
  }

 private:
  sqlite3* database_;
  const std::string& path_;
  bool committed_ = false;
};

// Returns the columns of `points` with their SQL types.
std::vector<std::pair<std::string, std::string>> point_columns() {
  std::vector<std::pair<std::string, std::string>> columns = {
      {"key", "TEXT PRIMARY KEY NOT NULL"},
      {"status", "TEXT NOT NULL CHECK (status IN ('ok', 'failed', 'timeout'))"},
      {"error", "TEXT"},
      {"scenario", "TEXT NOT NULL"}};
  for (const Metric& metric : metric_columns()) {
    const bool is_text = std::holds_alternative<std::string>(metric.value);
    const bool is_flag = std::holds_alternative<bool>(metric.value);
    // NUMERIC for integers too, because a mean over replications need not be an integer.
    columns.emplace_back(metric.name, is_text ? "TEXT" : is_flag ? "INTEGER" : "NUMERIC");
  }
  columns.insert(
      columns.end(),
      {{"intervals", "TEXT"}, {"notes", "TEXT"}, {"quality_note", "TEXT"}, {"build", "TEXT NOT NULL"}});
  return columns;
}

// Returns {"mean_ttft_ms": {"mean": 51.3, "half_width": 0.8, "method": "replications", "n": 5}, ...}.
std::string intervals_json(const std::vector<Interval>& intervals) {
  if (intervals.empty()) return "";
  nlohmann::ordered_json object;
  for (const Interval& one : intervals)
    object[one.name] = {
        {"mean", one.mean}, {"half_width", one.half_width}, {"method", name(one.method)}, {"n", one.n}};
  return object.dump();
}

// Replaces invalid UTF-8, because notes may contain file names.
std::string dumped(const std::vector<std::string>& notes) {
  using Json = nlohmann::json;
  return Json(notes).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void each_row(sqlite3* database, const std::string& path, const ResultsFile::OnRow& on_row) {
  Statement rows(database, path, "SELECT * FROM results ORDER BY point");
  std::vector<std::string> columns(static_cast<std::size_t>(rows.columns()));
  for (int i = 0; i < rows.columns(); ++i) columns[static_cast<std::size_t>(i)] = rows.name(i);
  std::vector<Cell> row(columns.size());
  while (rows.step()) {
    for (int i = 0; i < rows.columns(); ++i) row[static_cast<std::size_t>(i)] = rows.cell(i);
    on_row(columns, row);
  }
}

// Returns the header, or nothing for a new file. Throws InputError for a database of another program.
std::optional<DatabaseHeader> own_header(const std::string& path) {
  const std::optional<DatabaseHeader> header = read_database_header(path);
  if (header && header->application_id != kApplicationId) {
    throw InputError(path + ": is not a sweep results file, but a database of another program");
  }
  return header;
}

std::pair<uint64_t, uint64_t> identity_of(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino};
}

// Returns the path with the reserved characters of a URI escaped.
std::string uri_path(const std::string& path) {
  std::string text;
  for (char c : path) text += c == '%' ? "%25" : c == '?' ? "%3f" : c == '#' ? "%23" : std::string(1, c);
  return text;
}

}  // namespace

ResultsFile::ResultsFile(const std::string& path) : ResultsFile(path, journal_mode_at(path)) {}

ResultsFile::ResultsFile(const std::string& path, JournalMode mode) : path_(path), mode_(mode) {
  const std::optional<DatabaseHeader> header = own_header(path);
  const int code =
      sqlite3_open_v2(path.c_str(), &database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  try {
    if (code != SQLITE_OK) fail(database_, path_);
    sqlite3_busy_timeout(database_, kPatience_ms);
    // With an exclusive lock SQLite reads the WAL without shared memory.
    const bool leaves_wal = mode == JournalMode::rollback && header && header->journal_mode != mode;
    if (leaves_wal) Statement(database_, path_, "PRAGMA locking_mode = EXCLUSIVE").run();
    Statement(database_, path_, "PRAGMA synchronous = FULL").run();
    // Writes the tables before SQLite creates a WAL, so that the header with the application id is in the
    // file itself.
    make_tables();
    check_columns("main", path_);
    identity_ = identity_of(path_);
    const char* journal = mode == JournalMode::wal ? "WAL" : "DELETE";
    Statement(database_, path_, std::string("PRAGMA journal_mode = ") + journal).run();
    if (leaves_wal) {
      Statement(database_, path_, "PRAGMA locking_mode = NORMAL").run();
      Statement(database_, path_, "SELECT count(*) FROM points").run();  // releases the lock
    }
  } catch (...) {
    sqlite3_close(database_);
    throw;
  }
}

// Throws if the file was removed or replaced. Otherwise SQLite would keep writing to the old file.
void ResultsFile::refuse_if_gone() const {
  if (identity_of(path_) == identity_) return;
  throw std::system_error(ENOENT, std::generic_category(),
                          path_ + ": was removed or replaced while the sweep was running");
}

ResultsFile::~ResultsFile() { sqlite3_close(database_); }

void ResultsFile::make_tables() {
  Transaction transaction(database_, path_);
  Statement objects(database_, path_, "SELECT count(*) FROM sqlite_master");
  objects.step();
  if (objects.integer(0) > 0) return;
  Statement(database_, path_, "PRAGMA application_id = " + std::to_string(kApplicationId)).run();
  Statement(database_, path_, "PRAGMA user_version = " + std::to_string(kFormat)).run();
  std::string sql;
  for (const auto& [name, type] : point_columns())
    sql += (sql.empty() ? "" : ", ") + sql_quoted(name) + " " + type;
  Statement(database_, path_, "CREATE TABLE points (" + sql + ")").run();
  transaction.commit();
}

void ResultsFile::check_columns(const std::string& schema, const std::string& path) const {
  const auto pragma = [&](const char* name) {
    Statement statement(database_, path, "PRAGMA " + schema + "." + name);
    statement.step();
    return statement.integer(0);
  };
  if (pragma("application_id") != kApplicationId) throw InputError(path + ": is not a sweep results file");
  Statement info(database_, path, "PRAGMA " + schema + ".table_info(points)");
  bool same = pragma("user_version") == kFormat;
  for (const auto& [name, type] : point_columns()) same = same && info.step() && info.text(1) == name;
  if (!same || info.step()) {
    throw InputError(path + ": was written by another version of kvcap; choose another folder");
  }
}

void ResultsFile::set_swept(const std::vector<std::string>& paths, std::size_t points,
                            const std::function<SweptPoint(std::size_t)>& point) {
  Transaction transaction(database_, path_);
  Statement(database_, path_, "DROP VIEW IF EXISTS results").run();
  Statement(database_, path_, "DROP TABLE IF EXISTS swept").run();
  std::string columns, values, view = "swept.point, swept.key";
  for (const std::string& path : paths) {
    columns += ", " + sql_quoted(path);
    values += ", json_extract(?, '$')";
    view += ", swept." + sql_quoted(path);
  }
  for (const auto& [name, type] : point_columns()) {
    if (name != "key") view += ", points." + sql_quoted(name);
  }
  Statement(database_, path_,
            "CREATE TABLE swept (point INTEGER PRIMARY KEY, key TEXT NOT NULL" + columns + ")")
      .run();
  Statement(database_, path_,
            "CREATE VIEW results AS SELECT " + view + " FROM swept LEFT JOIN points USING (key)")
      .run();
  Statement insert(database_, path_, "INSERT INTO swept VALUES (?, ?" + values + ")");
  for (std::size_t i = 0; i < points; ++i) {
    const SweptPoint row = point(i);
    insert.bind(static_cast<int64_t>(row.point));
    insert.bind(row.key);
    for (const std::string& value : row.values) insert.bind_or_null(value);
    insert.run();
  }
  transaction.commit();
}

void ResultsFile::put(const std::vector<PointRow>& rows) {
  Transaction transaction(database_, path_);
  const std::size_t columns = point_columns().size();
  const std::size_t metrics = columns - 8;
  std::string places = "?";
  for (std::size_t i = 1; i < columns; ++i) places += ", ?";
  Statement insert(database_, path_, "INSERT OR REPLACE INTO points VALUES (" + places + ")");
  for (const PointRow& row : rows) {
    KVCAP_CHECK(row.metrics.empty() || row.metrics.size() == metrics);
    insert.bind(row.key);
    insert.bind(std::string(kPointStatusNames[static_cast<std::size_t>(row.status)]));
    insert.bind_or_null(row.error);
    insert.bind(row.scenario_json);
    for (const Metric& metric : row.metrics)
      std::visit([&insert](const auto& value) { insert.bind(value); }, metric.value);
    for (std::size_t i = row.metrics.size(); i < metrics; ++i) insert.bind_null();
    insert.bind_or_null(intervals_json(row.intervals));
    insert.bind_or_null(row.notes.empty() ? "" : dumped(row.notes));
    insert.bind_or_null(row.quality_note);
    insert.bind(program_build());
    insert.run();
  }
  transaction.commit();
  refuse_if_gone();
}

void ResultsFile::take_from(const std::string& path) {
  const std::optional<DatabaseHeader> header = own_header(path);
  if (header && mode_ == JournalMode::rollback && header->journal_mode != mode_) ResultsFile(path, mode_);
  Statement attach(database_, path, "ATTACH ? AS other");
  attach.bind(path);
  attach.run();
  Statement objects(database_, path, "SELECT count(*) FROM other.sqlite_master");
  objects.step();
  const bool is_empty = objects.integer(0) == 0;  // its writer was stopped before the first transaction
  objects.run();
  if (!is_empty) {
    check_columns("other", path);
    Transaction transaction(database_, path_);
    Statement take(database_, path_,
                   "INSERT OR REPLACE INTO points SELECT * FROM other.points AS one WHERE build = ? AND "
                   "key IN (SELECT key FROM swept) AND NOT EXISTS (SELECT 1 FROM main.points AS had WHERE "
                   "had.key = one.key AND had.status = 'ok' AND had.build = one.build)");
    take.bind(program_build());
    take.run();
    transaction.commit();
  }
  Statement(database_, path, "DETACH other").run();
}

std::vector<std::string> ResultsFile::keys() const {
  std::vector<std::string> keys;
  Statement rows(database_, path_, "SELECT key FROM points");
  while (rows.step()) keys.push_back(rows.text(0));
  return keys;
}

std::map<std::string, PointStatus> ResultsFile::ended() const {
  std::map<std::string, PointStatus> ended;
  Statement rows(database_, path_, "SELECT key, status FROM points WHERE build = ?");
  rows.bind(program_build());
  while (rows.step()) {
    const std::string status = rows.text(1);
    ended[rows.text(0)] = status == "ok"       ? PointStatus::ok
                          : status == "failed" ? PointStatus::failed
                                               : PointStatus::timeout;
  }
  return ended;
}

void ResultsFile::each_result(const OnRow& on_row) const { each_row(database_, path_, on_row); }

void read_results(const std::string& path, const OnResult& on_result) {
  const std::optional<DatabaseHeader> header = own_header(path);
  // Reads a WAL-mode file that no process has open as immutable; otherwise SQLite would create a -wal and a
  // -shm next to it.
  std::error_code none;
  const auto wal_bytes = std::filesystem::file_size(path + "-wal", none);
  const bool is_at_rest = header && header->journal_mode == JournalMode::wal && (none || wal_bytes == 0);
  const std::string uri = "file:" + uri_path(path) + (is_at_rest ? "?immutable=1" : "?mode=ro");
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> closer(database, sqlite3_close);
  try {
    if (code != SQLITE_OK) fail(database, path);
    sqlite3_busy_timeout(database, 10'000);
    Statement(database, path, "PRAGMA trusted_schema = OFF").run();
    Statement id(database, path, "PRAGMA application_id");
    if (!id.step() || id.integer(0) != kApplicationId)
      throw InputError(path + ": is not a sweep results file");
    Statement objects(database, path,
                      "SELECT count(*) FROM sqlite_master WHERE name IN ('swept', 'results')");
    objects.step();
    if (objects.integer(0) < 2)
      throw InputError(path + ": contains no points; its sweep was stopped too early");
    Statement count(database, path, "SELECT count(*) FROM swept");
    count.step();
    const int64_t rows = count.integer(0);
    each_row(database, path, [&](const std::vector<std::string>& columns, const std::vector<Cell>& row) {
      on_result(columns, row, rows);
    });
  } catch (const std::system_error& error) {
    throw InputError(error.what());
  }
}

}  // namespace kvcap
