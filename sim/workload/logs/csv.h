// Reads CSV files whose first row names the columns, in any order. The separator is the comma, semicolon or
// tab that is most frequent in the first row. A quoted field may contain separators, line ends and doubled
// quotes. Spaces around fields are ignored.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "workload/logs/log_row.h"

namespace kvcap {

using CsvColumn = LogColumn;
using CsvRow = LogRow;

// Calls `take` with every row after the first until it returns false. Other columns are ignored if
// `others_allowed`, else they are an error. Bad rows are handled as in for_each_line; a bad first row is
// always an error. Messages name the line in which a row begins. A stray quote may join lines into one row:
// if the row's quotes or number of fields are wrong, reading continues at its second line.
BadRows for_each_csv_row(const std::string& path, BadRow on_bad_row, std::span<const LogColumn> columns,
                         bool others_allowed, const std::function<bool(const LogRow&)>& take);

}  // namespace kvcap
