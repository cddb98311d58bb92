#include "workload/logs/log_columns.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "base/text/joined.h"

namespace kvcap {
namespace {

struct FieldRow {
  std::string_view name;
  bool required = false;
  bool is_time = false;
};
constexpr std::array<FieldRow, kLogFields> kFields = {  // in the order of LogField
    FieldRow{"arrival", false, true},
    FieldRow{"input", true},
    FieldRow{"output", true},
    FieldRow{"session"},
    FieldRow{"ttft", false, true},
    FieldRow{"e2el", false, true},
    FieldRow{"prompt"},
    FieldRow{"id"}};

[[noreturn]] void refuse(const std::string& what) { throw InputError("workload.source.columns: " + what); }

std::vector<std::string_view> field_names() {
  std::vector<std::string_view> names;
  for (const FieldRow& row : kFields) names.push_back(row.name);
  return names;
}

LogField field_of(std::string_view name) {
  const std::vector<std::string_view> names = field_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<LogField>(found - names.begin());
  refuse("found " + std::string(name) + ", allowed: " + joined(names) + suggestion(name, names));
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Removes ":ms" from the end and returns the unit.
std::optional<TimeUnit> take_unit(std::string_view& column) {
  constexpr std::pair<std::string_view, TimeUnit> kUnits[] = {
      {":s", TimeUnit::s}, {":ms", TimeUnit::ms}, {":us", TimeUnit::us}, {":ns", TimeUnit::ns}};
  for (const auto& [ending, unit] : kUnits) {
    if (!column.ends_with(ending)) continue;
    column.remove_suffix(ending.size());
    return unit;
  }
  return std::nullopt;
}

}  // namespace

LogColumns parse_log_columns(const std::string& text) {
  LogColumns columns;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view one = without_blanks(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t sign = one.find('=');
    if (sign == std::string_view::npos || sign + 1 == one.size()) {
      refuse("found " + (one.empty() ? "nothing" : std::string(one)) + ", allowed: field=column");
    }
    const LogField field = field_of(without_blanks(one.substr(0, sign)));
    std::string_view column = without_blanks(one.substr(sign + 1));
    const std::optional<TimeUnit> unit = kFields[field].is_time ? take_unit(column) : std::nullopt;
    if (!columns[field].name.empty())
      refuse("found " + std::string(kFields[field].name) + " twice, allowed: each field once");
    columns[field] = {std::string(column), unit};
  }
  for (std::size_t i = 0; i < kLogFields; ++i) {
    if (kFields[i].required && columns[i].name.empty()) {
      refuse(std::string(kFields[i].name) + ": missing, required");
    }
  }
  if (!columns[kPrompt].name.empty() && !columns[kSession].name.empty()) {
    refuse(
        "found prompt and session, allowed: one of them (prompt: equal values are the same text; "
        "session: each turn builds on the one before)");
  }
  return columns;
}

}  // namespace kvcap
