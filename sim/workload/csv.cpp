#include "workload/csv.h"

#include <algorithm>
#include <charconv>

#include "base/input_error.h"

namespace kvcap {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

void split(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (fields.back().starts_with('"')) {
      throw BadRowError{"found " + std::string(fields.back()) + ", allowed: fields without quotes"};
    }
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

// Where the wanted columns stand among the header's names.
std::vector<std::size_t> positions_in(const std::vector<std::string_view>& names,
                                      std::span<const CsvColumn> columns, bool others_allowed,
                                      std::size_t absent) {
  std::vector<std::string_view> known;
  for (const CsvColumn& column : columns) known.push_back(column.name);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name(names[i]);
    const bool wanted = std::find(known.begin(), known.end(), names[i]) != known.end();
    if (!wanted && !others_allowed) throw BadRowError{name + ": unknown column" + suggestion(name, known)};
    if (!wanted) continue;
    const auto here = names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(names.begin(), here, names[i]) != here)
      throw BadRowError{name + ": found again, allowed: each column once"};
  }
  std::vector<std::size_t> positions;
  for (const CsvColumn& column : columns) {
    const auto found = std::find(names.begin(), names.end(), column.name);
    if (found == names.end() && column.required) {
      throw BadRowError{std::string(column.name) + ": missing, required as a column of the first line"};
    }
    positions.push_back(found == names.end() ? absent : static_cast<std::size_t>(found - names.begin()));
  }
  return positions;
}

template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void CsvRow::refuse(std::size_t i, const std::string& allowed) const {
  constexpr std::size_t longest = 80;
  std::string found(text(i).empty() ? "nothing" : text(i));
  if (found.size() > longest) found = found.substr(0, longest) + "...";
  throw BadRowError{std::string(columns_[i].name) + ": found " + found + ", allowed: " + allowed};
}

uint32_t CsvRow::tokens(std::size_t i, int64_t least) const {
  int64_t number = 0;
  if (!parse(text(i), number) || number < least || number > kMaxTokens) {
    refuse(i, "an integer from " + std::to_string(least) + " to " + std::to_string(kMaxTokens));
  }
  return static_cast<uint32_t>(number);
}

double CsvRow::arrival_s(std::size_t i, double last_s) const {
  double time_s = 0;
  if (!parse(text(i), time_s) || !(time_s >= 0 && time_s <= kMaxArrival_s)) {
    refuse(i, "a number from 0 to 1e10");
  }
  if (time_s < last_s) refuse(i, "no less than that of the row before");
  return time_s;
}

BadRows for_each_csv_row(const std::string& path, BadRow on_bad_row, std::span<const CsvColumn> columns,
                         bool others_allowed, const std::function<bool(const CsvRow&)>& take) {
  CsvRow row;
  row.columns_ = columns;
  std::size_t width = 0;  // 0 until the header is read
  return for_each_line(path, on_bad_row, [&](std::string_view line, int64_t number) {
    if (width > 0) {
      split(line, row.fields_);
      if (row.fields_.size() == width) return take(row);
      throw BadRowError{"found " + std::to_string(row.fields_.size()) +
                        " fields, allowed: " + std::to_string(width) + ", as many as the first line has"};
    }
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    try {
      split(line, row.fields_);
      row.positions_ = positions_in(row.fields_, columns, others_allowed, CsvRow::kAbsent);
    } catch (const BadRowError& error) {
      throw InputError(path + ":" + std::to_string(number) + ": " + error.reason);
    }
    width = row.fields_.size();
    return true;
  });
}

}  // namespace kvcap
