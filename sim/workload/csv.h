// Comma-separated files whose first line names the columns, in any order. Fields have no quotes and no
// commas; spaces around them do not count.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/rows.h"

namespace kvcap {

struct CsvColumn {
  std::string_view name;
  bool required = true;
};

// One row, seen through the columns that its reader wants: `i` counts those.
class CsvRow {
 public:
  bool has(std::size_t i) const { return positions_[i] != kAbsent; }
  // REQUIRES: has(i).
  std::string_view text(std::size_t i) const { return fields_[positions_[i]]; }
  // An integer from `least` to kMaxTokens.
  uint32_t tokens(std::size_t i, int64_t least = 1) const;
  // A time of at least 0 and of at least `last_s`, that of the row before.
  double arrival_s(std::size_t i, double last_s) const;
  // Throws BadRowError: "column: found field, allowed: ...".
  [[noreturn]] void refuse(std::size_t i, const std::string& allowed) const;

 private:
  friend BadRows for_each_csv_row(const std::string&, BadRow, std::span<const CsvColumn>, bool,
                                  const std::function<bool(const CsvRow&)>&);
  static constexpr std::size_t kAbsent = -1;

  std::span<const CsvColumn> columns_;
  std::vector<std::size_t> positions_;  // of the wanted columns in the file
  std::vector<std::string_view> fields_;
};

// Calls `take` with every row below the header until it returns false. Columns of other names are passed
// over, or errors. Bad rows as in for_each_line; a bad header is always an error.
BadRows for_each_csv_row(const std::string& path, BadRow on_bad_row, std::span<const CsvColumn> columns,
                         bool others_allowed, const std::function<bool(const CsvRow&)>& take);

}  // namespace kvcap
