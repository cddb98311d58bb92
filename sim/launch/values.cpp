#include "launch/values.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "base/input_error.h"

namespace kvcap {

bool has_variable(std::string_view value) {
  for (std::size_t at = value.find('$'); at != std::string_view::npos; at = value.find('$', at + 1)) {
    const char next = at + 1 < value.size() ? value[at + 1] : ' ';
    if (std::isalpha(static_cast<unsigned char>(next)) != 0 || next == '{' || next == '_' || next == '(')
      return true;
  }
  return value.find('`') != std::string_view::npos;
}

void refuse_value(std::string_view flag, const std::string& value, const std::string& allowed) {
  const std::string place = "--from: " + std::string(flag) + ": found \"" + value + "\", ";
  if (has_variable(value)) {
    throw InputError(place +
                     "a variable that the line does not set; allowed: its value, or NAME=value before");
  }
  throw InputError(place + "allowed: " + allowed);
}

namespace {

struct Suffix {
  std::string_view text;
  double factor;
};
// vllm/utils/argparse_utils.py: lower-case suffixes are decimal, upper-case ones binary.
constexpr Suffix kSuffixes[] = {{"", 1},        {"k", 1e3},        {"m", 1e6},
                                {"g", 1e9},     {"t", 1e12},       {"K", 1024},
                                {"M", 1048576}, {"G", 1073741824}, {"T", 1099511627776}};
constexpr Suffix kByteUnits[] = {{"B", 1},         {"KB", 1e3},         {"MB", 1e6},
                                 {"GB", 1e9},      {"TB", 1e12},        {"KiB", 1024},
                                 {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776}};

// Returns nothing if the text is not a number with one of the suffixes.
std::optional<double> suffixed(const std::string& text, std::span<const Suffix> suffixes) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Suffix& one : suffixes) {
    if (rest == one.text) return number * one.factor;
  }
  return std::nullopt;
}

}  // namespace

double number_value(std::string_view flag, const std::string& value) {
  if (const std::optional<double> number = suffixed(value, kSuffixes)) return *number;
  refuse_value(flag, value, "a number, optionally followed by k, K, m, M, g or G");
}

double bytes_value(std::string_view flag, const std::string& value) {
  if (const std::optional<double> number = suffixed(value, kByteUnits)) return *number;
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
