#include "workload/logs/log_row.h"

#include <charconv>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "workload/logs/json_fields.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

// Collects the dotted names ("usage.prompt_tokens") of leaf values, up to as many as an error message lists.
void leaf_names(const Json& object, const std::string& before, std::vector<std::string>& names) {
  constexpr std::size_t kMost = 40;
  for (const auto& [key, value] : object.items()) {
    if (names.size() >= kMost) return;
    if (value.is_object()) {
      leaf_names(value, before + key + ".", names);
    } else {
      names.push_back(before + key);
    }
  }
}

// Returns a string unchanged, and any other value as JSON text, which `kept` owns.
std::string_view text_of(const Json& value, std::deque<std::string>& kept) {
  if (value.is_string()) return value.get_ref<const std::string&>();
  return kept.emplace_back(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

void LogRow::refuse(std::size_t i, const std::string& allowed) const {
  const std::string found = says(i) ? beginning(text(i)) : "nothing";
  throw BadRowError{std::string(columns_[i].name) + ": found " + found + ", allowed: " + allowed};
}

// Accepts 12.0 for 12, which programs without nullable integers write.
uint32_t LogRow::tokens(std::size_t i, int64_t least) const {
  const std::string_view field = says(i) ? text(i) : std::string_view();
  double number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  const bool whole =
      error == std::errc() && end == field.data() + field.size() && number == std::floor(number);
  if (!whole || !(number >= static_cast<double>(least) && number <= static_cast<double>(kMaxTokens))) {
    refuse(i, "an integer from " + std::to_string(least) + " to " + std::to_string(kMaxTokens));
  }
  return static_cast<uint32_t>(number);
}

int64_t LogRow::time_ns(std::size_t i, LogClock& clock) const {
  const std::optional<int64_t> time_ns = clock.read_ns(says(i) ? text(i) : std::string_view());
  if (!time_ns) refuse(i, clock.allowed());
  return *time_ns;
}

double LogRow::duration_s(std::size_t i, TimeUnit unit) const {
  if (!says(i) || text(i) == "nan" || text(i) == "NaN") return NAN;
  const std::optional<int64_t> ns = parse_time_ns(text(i), unit);
  if (!ns) refuse(i, "a time of at least 0");
  return static_cast<double>(*ns) / 1e9;
}

BadRowError no_such_column(std::string_view wanted, std::span<const std::string> there) {
  const std::string names = joined(there);
  const std::vector<std::string_view> candidates(there.begin(), there.end());
  return {std::string(wanted) + ": no such column, the file has " + (names.empty() ? "none" : names) +
          suggestion(wanted, candidates)};
}

BadRows for_each_json_row(const std::string& path, BadRow on_bad_row, std::span<const LogColumn> columns,
                          const std::function<bool(const LogRow&)>& take) {
  std::vector<bool> seen(columns.size());
  std::vector<std::string> names;  // keys of the first row
  bool is_whole = true;
  BadRows bad = for_each_row(path, on_bad_row, [&](const Json& object, int64_t line) {
    if (names.empty()) leaf_names(object, "", names);
    LogRow row(columns);
    row.set_line(line);
    std::deque<std::string> kept;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Json* value = columns[i].name.empty() ? nullptr : find_dotted_or_null(object, columns[i].name);
      if (value) {
        if (!value->is_null()) row.set(i, text_of(*value, kept));
        seen[i] = true;
      } else if (columns[i].need == Need::every_row) {
        std::vector<std::string> there;
        leaf_names(object, "", there);
        throw no_such_column(columns[i].name, there);
      }
    }
    is_whole = take(row);
    return is_whole;
  });
  for (std::size_t i = 0; i < columns.size() && is_whole && !names.empty(); ++i) {
    if (columns[i].need != Need::some_row || seen[i]) continue;
    throw InputError(path + ": " + no_such_column(columns[i].name, names).reason);
  }
  return bad;
}

}  // namespace kvcap
