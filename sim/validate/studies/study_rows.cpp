#include "validate/studies/study_rows.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/input_error.h"
#include "base/text/utf8.h"
#include "validate/studies/expression.h"
#include "workload/logs/csv.h"
#include "workload/logs/lines.h"

namespace kvcap {
namespace {

std::vector<std::string> columns_of(const std::string& path) {
  LineReader lines(path);
  std::string_view line;
  std::vector<std::string> columns(1);
  if (!lines.next(line))
    throw InputError(path + ": found no line, allowed: a first row that names the columns");
  // The separator that occurs most often in the first row, as in for_each_csv_row.
  char separator = ',';
  for (const char other : {';', '\t'}) {
    if (std::count(line.begin(), line.end(), other) > std::count(line.begin(), line.end(), separator))
      separator = other;
  }
  for (const char letter : line) {
    if (letter == separator) {
      columns.emplace_back();
    } else if (letter != '\r' && letter != '"' && letter != ' ') {
      columns.back() += letter;
    }
  }
  return columns;
}

std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Returns the name of the column with each character that expressions do not allow in names replaced by _.
std::string as_name(std::string column) {
  for (char& letter : column) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '.') letter = '_';
  }
  return column;
}

double evaluate_over(const std::string& expression, const TableRow& row) {
  return evaluate(expression, [&](const std::string& column) { return column_number(row, column); });
}

std::string filled_text(const std::string& pattern, const ValueOfText& value) {
  std::string text;
  std::size_t done = 0;
  for (std::size_t open; (open = pattern.find('{', done)) != std::string::npos;) {
    const std::size_t close = pattern.find('}', open);
    if (close == std::string::npos) break;
    text += pattern.substr(done, open - done) + value(pattern.substr(open + 1, close - open - 1));
    done = close + 1;
  }
  return text + pattern.substr(done);
}

}  // namespace

void for_each_table_row(const std::string& path, const std::function<void(TableRow& row)>& take) {
  const std::vector<std::string> names = columns_of(path);
  std::vector<CsvColumn> columns;
  for (const std::string& name : names) columns.push_back({name});
  std::size_t count = 0;
  for_each_csv_row(path, BadRow::error, columns, true, [&](const CsvRow& row) {
    TableRow one = {{"row_number", std::to_string(count++)}};
    for (std::size_t i = 0; i < names.size(); ++i) {
      one[names[i]] = row.text(i);
      if (!is_utf8(row.text(i)))
        throw InputError(path + ": column " + names[i] + ": found text that is not UTF-8");
    }
    take(one);
    return true;
  });
}

std::vector<TableRow> rows_of_table(const std::string& path) {
  std::vector<TableRow> rows;
  for_each_table_row(path, [&rows](TableRow& row) { rows.push_back(std::move(row)); });
  return rows;
}

double column_number(const TableRow& row, const std::string& column) {
  auto found = row.find(column);
  if (found == row.end()) {
    found =
        std::find_if(row.begin(), row.end(), [&](const auto& one) { return as_name(one.first) == column; });
  }
  if (found != row.end()) return number_in(found->second).value_or(std::nan(""));
  std::vector<std::string_view> columns;
  for (const auto& [name, text] : row) columns.push_back(name);
  throw InputError("no column \"" + column + "\" in the table" + suggestion(column, columns));
}

Json filled_in(const Json& pattern, const ValueOfText& value) {
  if (pattern.is_string()) {
    const auto& text = pattern.get_ref<const std::string&>();
    const bool is_one = text.starts_with('{') && text.find('}') == text.size() - 1;
    const std::string filled = filled_text(text, value);
    const std::optional<double> number = is_one ? number_in(filled) : std::nullopt;
    if (number && !std::isfinite(*number))
      throw InputError(text + ": found " + filled + ", allowed: a number");
    return number ? Json(*number) : Json(filled);
  }
  Json filled = pattern;
  if (pattern.is_structured()) {
    for (Json& item : filled) item = filled_in(item, value);
  }
  return filled;
}

Json filled_in(const Json& pattern, const TableRow& row) {
  return filled_in(pattern, [&row](const std::string& text) {
    if (const auto column = row.find(text); column != row.end()) return column->second;
    const double number = evaluate_over(text, row);
    if (!std::isfinite(number)) throw InputError("{" + text + "}: found no number in a row");
    return Json(number).dump();
  });
}

bool meets(const std::string& condition, const TableRow& row) { return evaluate_over(condition, row) != 0; }

}  // namespace kvcap
