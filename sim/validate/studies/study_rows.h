// Rows of a CSV as settings: each row of a table of measurements is one run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenario/json.h"

namespace kvcap {

using TableRow = std::map<std::string, std::string>;  // by column

// All rows of a CSV file, plain or gzip. Throws InputError.
std::vector<TableRow> rows_of_table(const std::string& path);

// The number of a column, NaN where it has none. Throws InputError, without a place, for an unknown column.
double column_number(const TableRow& row, const std::string& column);

// JSON in which "{column}" stands for the row's text, a number where it is one, and "{expression}" for what
// an expression over columns gives.
Json filled_in(const Json& pattern, const TableRow& row);

// Whether an expression over the row's columns is not 0.
bool meets(const std::string& condition, const TableRow& row);

}  // namespace kvcap
