#include "launch/values.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "base/text/units.h"

namespace kvcap {

bool has_variable(std::string_view value) {
  for (std::size_t at = value.find('$'); at != std::string_view::npos; at = value.find('$', at + 1)) {
    const char next = at + 1 < value.size() ? value[at + 1] : ' ';
    if (std::isalpha(static_cast<unsigned char>(next)) != 0 || next == '{' || next == '_' || next == '(')
      return true;
  }
  return value.find('`') != std::string_view::npos || has_placeholder(value);
}

bool has_placeholder(std::string_view value) { return value.find("{{") != std::string_view::npos; }

void refuse_value(std::string_view flag, const std::string& value, const std::string& allowed) {
  const std::string place = "--from: " + std::string(flag) + ": found \"" + value + "\", ";
  if (has_placeholder(value)) {
    throw InputError(place + "a template's placeholder; allowed: its value, as helm template writes it");
  }
  if (has_variable(value)) {
    throw InputError(
        place +
        "a variable that the line does not set; allowed: its value, or NAME=value before the command");
  }
  throw InputError(place + "allowed: " + allowed);
}

double number_value(std::string_view flag, const std::string& value) {
  if (const std::optional<double> number = number_with_unit(value, UnitOf::count)) return *number;
  refuse_value(flag, value, "a number, optionally followed by k, K, m, M, g or G");
}

double bytes_value(std::string_view flag, const std::string& value) {
  if (const std::optional<double> number = number_with_unit(value, UnitOf::bytes)) return *number;
  return number_value(flag, value);
}

int64_t integer_value(std::string_view flag, const std::string& value) {
  const double number = number_value(flag, value);
  if (number != std::floor(number) || std::abs(number) > 1e15) refuse_value(flag, value, "an integer");
  return std::llround(number);
}

// True iff the word matches; a pattern that ends with * matches every word with this prefix.
static bool is_meant(std::string_view pattern, std::string_view word) {
  if (!pattern.ends_with('*')) return lower_case(pattern) == lower_case(word);
  return lower_case(word).starts_with(lower_case(pattern.substr(0, pattern.size() - 1)));
}

std::optional<std::string> word_value(const FlagRow& row, const std::string& word) {
  std::string allowed;
  for (const Word& one : words_of(row.words)) {
    if (is_meant(one.word, word)) {
      return one.value.empty() ? std::nullopt : std::optional(std::string(one.value));
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(one.word);
  }
  refuse_value(first_name(row), word, allowed);
}

std::optional<std::string_view> word_for(const FlagRow& row, std::string_view value) {
  for (const Word& one : words_of(row.words)) {
    if (!one.value.empty() && one.value == value) return one.word;
  }
  return std::nullopt;
}

std::string number_json(double number) { return nlohmann::json(number).dump(); }
std::string integer_json(double number) { return std::to_string(std::llround(number)); }

std::string lower_case(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return small;
}

}  // namespace kvcap
