#include "text/csv_rows.h"

#include <charconv>
#include <cmath>

#include "base/text/plain_text.h"

namespace kvcap {
namespace {

// Quotes a text that contains a comma or a quote (RFC 4180). Puts an apostrophe before an initial = + - or @,
// so that spreadsheets do not read a formula.
std::string cell(std::string_view text) {
  std::string safe = plain_line(text);
  if (!safe.empty() && std::string_view("=+-@").find(safe.front()) != std::string_view::npos)
    safe.insert(0, "'");
  if (safe.find_first_of(",\"") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (char c : safe) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// Returns the shortest digits that read back as the same double; "" if the value is not finite.
std::string digits(double value) {
  if (!std::isfinite(value)) return "";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

void CsvRows::add(const std::string& input, const std::string& setting, const std::string& metric,
                  double value, double half_width) {
  if (std::isnan(value)) return;
  text_ += cell(input) + ',' + cell(setting) + ',' + cell(metric) + ',' + digits(value) + ',' +
           digits(half_width) + '\n';
}

void CsvRows::add_all(const std::string& input, const std::string& setting, const Json& value,
                      const std::string& name) {
  if (value.is_number()) {
    add(input, setting, name, value.get<double>());
  } else if (value.is_boolean()) {
    add(input, setting, name, value.get<bool>() ? 1 : 0);
  } else if (value.is_object() || value.is_array()) {
    for (const auto& [key, item] : value.items())  // keys of a list are positions
      add_all(input, setting, item, name.empty() ? key : std::string(name).append(".").append(key));
  }
}

void CsvRows::add_list(const std::string& input, const Json& list, const char* key) {
  for (const Json& item : list) {
    if (!item.is_object()) continue;
    for (const auto& [name, value] : item.items())
      if (name != "timeline") add_all(input, text_of(item, key), value, name);
  }
}

}  // namespace kvcap
