#include "base/text/format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/text/plain_text.h"
#include "base/text/width.h"

namespace kvcap {
namespace {

constexpr int kSignificant = 3;

std::string printed(const char* format, int decimals, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, decimals, value);
  return text;
}

// Returns the power of ten of the value after rounding to three digits: 999.6 counts as 1,000.
int exponent_of(double value) {
  const std::string scientific = printed("%.*e", kSignificant - 1, value);
  return std::atoi(scientific.c_str() + scientific.find('e') + 1);
}

std::string separated(std::string digits) {
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  const std::size_t end = std::min(digits.find('.'), digits.size());
  for (std::size_t at = end; at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string with_decimals(double value, int decimals) {
  if (decimals < 0) {  // 12,345 is shown as 12,300
    const double step = std::pow(10.0, -decimals);
    value = std::round(value / step) * step;
  }
  return separated(printed("%.*f", std::max(decimals, 0), value));
}

bool is_plain(double value) { return std::abs(value) >= 1e-4 && std::abs(value) < 1e12; }

}  // namespace

std::string format_number(double value) {
  if (std::isnan(value)) return std::string(kUnknown);
  if (value == 0) return "0";
  if (!is_plain(value)) return printed("%.*e", kSignificant - 1, value);
  return with_decimals(value, kSignificant - 1 - exponent_of(value));
}

std::string format_interval(double value, double half_width) {
  if (std::isnan(value) || std::isnan(half_width)) return format_number(value);
  // Prints two digits of the half-width or three of the value, whichever is coarser, but at least one digit
  // of the half-width.
  const double larger = std::max(std::abs(value), half_width);
  if (half_width == 0 || !is_plain(larger) || !is_plain(half_width))
    return format_number(value) + " +-" + format_number(half_width);
  const int finest = std::min(kSignificant - 1 - exponent_of(value), 1 - exponent_of(half_width));
  const int decimals = std::max(finest, -exponent_of(half_width));
  const int most = kSignificant + 1 - exponent_of(larger);
  if (decimals > most) return format_number(value) + " +-" + format_number(half_width);
  return with_decimals(value, decimals) + " +-" + with_decimals(half_width, decimals);
}

std::string format_count(int64_t count) { return separated(std::to_string(count)); }

std::string format_count(int64_t count, std::string_view noun) {
  return format_count(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string format_percent(double share) {
  return std::isnan(share) ? std::string(kUnknown) : format_number(100 * share) + " %";
}

std::string format_ms(double value_ms) {
  constexpr double kMsPerS = 1000;
  return value_ms < kMsPerS ? format_number(value_ms) + " ms" : format_number(value_ms / kMsPerS) + " s";
}

std::string right_aligned(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, display_width(text)), ' ') + std::string(text);
}

std::string left_aligned(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, display_width(text)), ' ');
}

std::vector<std::string> wrap(std::string_view paragraph, std::size_t columns, std::string_view indent) {
  const std::string plain = plain_line(paragraph);
  std::string_view text = plain;
  std::vector<std::string> lines;
  std::string line;
  bool is_empty = true;  // no word on this line yet
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (!is_empty && display_width(line) + 1 + display_width(word) > columns) {
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(std::move(line));
      line = indent;
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  if (!is_empty) lines.push_back(std::move(line));
  return lines;
}

std::string wrapped(const std::vector<std::string>& paragraphs, std::string_view indent) {
  std::string text;
  for (const std::string& paragraph : paragraphs)
    for (const std::string& line : wrap(paragraph, text_columns(), indent)) text += line + '\n';
  return text;
}

}  // namespace kvcap
