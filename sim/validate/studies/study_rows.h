// Reads tables of measurements, in which each row describes one run, and fills the values of a row into a
// setting.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "scenario/json.h"

namespace kvcap {

// Column -> text of the cell. The additional column row_number counts from 0.
using TableRow = std::map<std::string, std::string>;

// Calls `take` with each row of a CSV file, plain or gzip. Throws InputError.
void for_each_table_row(const std::string& path, const std::function<void(TableRow& row)>& take);
std::vector<TableRow> rows_of_table(const std::string& path);

// Returns the number of a column; NaN if the cell is not a number. Throws InputError for an unknown column;
// the message does not name the file, which callers add.
double column_number(const TableRow& row, const std::string& column);

// Returns `pattern` with each "{TEXT}" in its strings replaced by the value of TEXT. A string that is only
// "{TEXT}" becomes a number if the value is one.
using ValueOfText = std::function<std::string(const std::string& text)>;
Json filled_in(const Json& pattern, const ValueOfText& value);
// Replaces "{column}" by the row's text and "{expression}" by the value of an expression over columns.
Json filled_in(const Json& pattern, const TableRow& row);

// True iff an expression over the row's columns is not 0.
bool meets(const std::string& condition, const TableRow& row);

}  // namespace kvcap
