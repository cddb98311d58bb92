#include "workload/logs/rows.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text/json_document.h"
#include "base/text/plain_text.h"
#include "workload/logs/lines.h"

namespace kvcap {

using Json = nlohmann::json;

std::string shown_in_row(const Json& value) {
  if (value.is_array()) return value.empty() ? "an empty array" : "an array";
  if (value.is_object()) return "an object";
  return beginning(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void bad_value(const std::string& path, const Json& found, const std::string& allowed) {
  throw BadRowError{path + ": found " + shown_in_row(found) + ", allowed: " + allowed};
}

void refuse_unknown_keys(const Json& object, std::span<const std::string_view> known,
                         const std::string& path) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw BadRowError{path + key + ": unknown key" + suggestion(key, known)};
  }
}

const Json& required(const Json& object, const char* key, const std::string& path) {
  const auto found = object.find(key);
  if (found == object.end()) throw BadRowError{path + key + ": missing, required"};
  return *found;
}

uint32_t token_count(const Json& value, const std::string& path, int64_t least) {
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (!(number >= static_cast<double>(least) && number <= kMaxTokens && number == std::floor(number))) {
    bad_value(path, value, "an integer from " + std::to_string(least) + " to " + std::to_string(kMaxTokens));
  }
  return static_cast<uint32_t>(number);
}

void count_bad_row(const std::string& error, BadRow on_bad_row, BadRows& bad) {
  if (on_bad_row == BadRow::error) throw InputError(error);
  if (++bad.count == 1) bad.first = error;
}

BadRows for_each_line(const std::string& path, BadRow on_bad_row,
                      const std::function<bool(std::string_view, int64_t)>& take) {
  BadRows bad;
  LineReader lines(path);
  std::string_view line;
  while (lines.next(line)) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    try {
      if (!take(line, lines.line_number())) break;
    } catch (const BadRowError& one) {
      const std::string column = one.column > 0 ? ":" + std::to_string(one.column) : "";
      const std::string error = path + ":" + std::to_string(lines.line_number()) + column + ": " + one.reason;
      count_bad_row(error, on_bad_row, bad);
    }
  }
  return bad;
}

BadRows for_each_row(const std::string& path, BadRow on_bad_row,
                     const std::function<bool(const Json&, int64_t)>& take) {
  return for_each_line(path, on_bad_row, [&](std::string_view line, int64_t number) {
    try {
      const Json row = read_json<Json>(line);
      if (!row.is_object()) bad_value("the line", row, "an object");
      return take(row, number);
    } catch (const JsonFault& one) {
      throw BadRowError{one.reason, std::min(one.byte, line.size() + 1)};
    } catch (const Json::exception& one) {
      throw BadRowError{json_reason(one.what())};
    }
  });
}

std::string count_of(int64_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

void note_left_out(int64_t number, std::string_view noun, std::string_view which, Source& source) {
  if (number == 0) return;
  source.notes.push_back(count_of(number, noun) + std::string(which) + (number == 1 ? " is" : " are") +
                         " left out");
}

std::string LeftOut::text() const {
  const std::pair<int64_t, const char*> kinds[] = {
      {warm_up, "warm-up"}, {cool_down, "cool-down"}, {cancelled, "cancelled"}, {failed, "failed"}};
  std::vector<std::string> parts;
  for (const auto& [number, name] : kinds) {
    if (number > 0) parts.push_back(std::to_string(number) + " " + name);
  }
  if (parts.empty()) return "";
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  const bool is_one = warm_up + cool_down + cancelled + failed == 1;
  return text + (is_one ? " request is left out" : " requests are left out");
}

void report_bad_rows(const std::string& path, const BadRows& bad, Source& source) {
  if (source.sessions.empty()) {
    throw InputError(path + ": contains no sessions" +
                     (bad.first.empty() ? "" : "; the first bad row: " + bad.first));
  }
  source.bad_rows_skipped = bad.count;
  if (bad.count == 0) return;
  source.notes.push_back(count_of(bad.count, "bad row") + " skipped; the first: " + bad.first);
}

}  // namespace kvcap
