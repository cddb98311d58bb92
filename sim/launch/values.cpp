#include "launch/values.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/input_error.h"

namespace kvcap {

void refuse_value(std::string_view flag, const std::string& value, const std::string& allowed) {
  throw InputError("--from: " + std::string(flag) + ": found \"" + value + "\", allowed: " + allowed);
}

double number_value(std::string_view flag, const std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const std::string_view rest(end, static_cast<std::size_t>(value.data() + value.size() - end));
  double factor = rest.empty() ? 1 : 0;
  if (rest == "k") factor = 1e3;
  if (rest == "K") factor = 1024;
  if (rest == "m") factor = 1e6;
  if (rest == "M") factor = 1048576;
  if (rest == "g") factor = 1e9;
  if (rest == "G") factor = 1073741824;
  if (error != std::errc() || factor == 0 || !std::isfinite(number)) {
    refuse_value(flag, value, "a number, perhaps with k, K, m, M, g or G behind it");
  }
  return number * factor;
}

int64_t integer_value(std::string_view flag, const std::string& value) {
  const double number = number_value(flag, value);
  if (number != std::floor(number) || std::abs(number) > 1e15) refuse_value(flag, value, "an integer");
  return std::llround(number);
}

// A pattern that ends with * means every word that begins as it does.
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

std::optional<std::string> word_for(const FlagRow& row, std::string_view value) {
  for (const Word& one : words_of(row.words)) {
    if (!one.value.empty() && one.value == value) return std::string(one.word);
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
