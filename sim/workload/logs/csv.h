// Files of rows whose first one names the columns, in any order. Fields are separated by commas, semicolons
// or tabs, whichever the first row has most of; a field in quotes may hold separators, line ends and,
// doubled, quotes. Spaces around fields do not count.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "workload/logs/log_row.h"

namespace kvcap {

using CsvColumn = LogColumn;
using CsvRow = LogRow;

// Calls `take` with every row below the first until it returns false. Columns of other names are passed over,
// or errors. Bad rows as in for_each_line; a bad first row is always an error. Messages name the line that a
// row begins in. Quotes may join lines to one row; where it is bad for its quotes or its number of fields,
// the next row begins in its second line.
BadRows for_each_csv_row(const std::string& path, BadRow on_bad_row, std::span<const LogColumn> columns,
                         bool others_allowed, const std::function<bool(const LogRow&)>& take);

}  // namespace kvcap
