// LogRow: the requested columns of one row of a request log, CSV or JSONL.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/logs/log_time.h"
#include "workload/logs/rows.h"

namespace kvcap {

// Rows in which a column is required. CSV files have a column in all rows or in none.
enum class Need : uint8_t { every_row, some_row, never };

struct LogColumn {
  std::string_view name;  // empty: no column
  Need need = Need::every_row;
};

// Field `i` belongs to column i of the requested columns.
class LogRow {
 public:
  explicit LogRow(std::span<const LogColumn> columns) : columns_(columns), fields_(columns.size()) {}

  bool has(std::size_t i) const { return fields_[i].has_value(); }
  // REQUIRES: has(i).
  std::string_view text(std::size_t i) const { return *fields_[i]; }
  // True iff the field exists and is not empty.
  bool says(std::size_t i) const { return has(i) && !text(i).empty(); }
  // Returns a whole number from `least` to kMaxTokens.
  uint32_t tokens(std::size_t i, int64_t least = 1) const;
  int64_t time_ns(std::size_t i, LogClock& clock) const;
  // Returns a duration in seconds; NaN if it is missing.
  double duration_s(std::size_t i, TimeUnit unit) const;
  // Throws BadRowError: "column: found field, allowed: ...".
  [[noreturn]] void refuse(std::size_t i, const std::string& allowed) const;

  int64_t line() const { return line_; }  // line number in the file, from 1

  void set(std::size_t i, std::optional<std::string_view> field) { fields_[i] = field; }
  void set_line(int64_t line) { line_ = line; }

 private:
  std::span<const LogColumn> columns_;
  std::vector<std::optional<std::string_view>> fields_;
  int64_t line_ = 0;
};

// Returns the error "t: no such column", followed by the columns of the file and the nearest name.
BadRowError no_such_column(std::string_view wanted, std::span<const std::string> there);

// Calls `take` with every object of a JSONL file until it returns false. A column's name is a key or a dotted
// path ("usage.prompt_tokens"). Other keys are ignored; a key with null counts as an empty field.
BadRows for_each_json_row(const std::string& path, BadRow on_bad_row, std::span<const LogColumn> columns,
                          const std::function<bool(const LogRow&)>& take);

}  // namespace kvcap
