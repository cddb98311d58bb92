// Formats numbers and paragraphs for users.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// What tables and sentences show of a number that is not known.
inline constexpr std::string_view kUnknown = "-";

// Returns three significant digits, thousands separated: 0.0123, 1.38, 51.2, 980, 12,300; kUnknown for NaN.
// Outside 1e-4 .. 1e12 it uses an exponent.
std::string format_number(double value);
// Returns value +- half_width with the same decimals, e.g. "51.2 +-0.9"; only the value if half_width is NaN.
std::string format_interval(double value, double half_width);
// Returns all digits, thousands separated: 5,540.
std::string format_count(int64_t count);
// Returns the count with its noun: 1 turn, 5,540 turns.
std::string format_count(int64_t count, std::string_view noun);
// Returns a share as a percentage: 0.935 is "93.5 %".
std::string format_percent(double share);
// Returns milliseconds with their unit, from one second on in seconds: "92.2 ms", "5.00 s", "461 s".
std::string format_ms(double value_ms);

// Pads with spaces to `width` columns: a cell of a number, or of a text.
std::string right_aligned(std::string_view text, std::size_t width);
std::string left_aligned(std::string_view text, std::size_t width);

// Width of what is printed for people.
inline constexpr std::size_t kTextColumns = 100;

// Returns lines of at most `columns` characters, broken at spaces; lines after the first begin with `indent`.
// Line ends inside the paragraph are shown as plain_line() does.
std::vector<std::string> wrap(std::string_view paragraph, std::size_t columns, std::string_view indent = "");
// Returns paragraphs as lines of at most kTextColumns.
std::string wrapped(const std::vector<std::string>& paragraphs, std::string_view indent = "");

}  // namespace kvcap
