// Formats numbers and paragraphs for users.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// Tables and sentences show this instead of an unknown number.
inline constexpr std::string_view kUnknown = "-";

// Returns the value with three significant digits and separated thousands: 0.0123, 1.38, 51.2, 980, 12,300.
// Returns kUnknown for NaN and uses an exponent outside 1e-4 .. 1e12.
std::string format_number(double value);
// Returns value +- half_width with the same decimals, e.g. "51.2 +-0.9"; only the value if half_width is NaN.
std::string format_interval(double value, double half_width);
// Returns all digits, with separated thousands: 5,540.
std::string format_count(int64_t count);
// Returns the count with its noun: 1 turn, 5,540 turns.
std::string format_count(int64_t count, std::string_view noun);
// Returns a share as a percentage: 0.935 is "93.5 %".
std::string format_percent(double share);
// Returns the time with its unit, in seconds from one second on: "92.2 ms", "5.00 s", "461 s".
std::string format_ms(double value_ms);

// Pad a table cell with spaces to `width` columns; numbers are right-aligned, texts left-aligned.
std::string right_aligned(std::string_view text, std::size_t width);
std::string left_aligned(std::string_view text, std::size_t width);

// Width of sentences and tables on the screen, in columns.
inline constexpr std::size_t kTextColumns = 100;

// Returns lines of at most `columns` characters, broken at spaces; lines after the first begin with `indent`.
// Line ends inside the paragraph are escaped as by plain_line().
std::vector<std::string> wrap(std::string_view paragraph, std::size_t columns, std::string_view indent = "");
// Returns the paragraphs as lines of at most text_columns() columns.
std::string wrapped(const std::vector<std::string>& paragraphs, std::string_view indent = "");

}  // namespace kvcap
