// Numbers as a person reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// Three significant digits, thousands separated: 0.0123, 1.38, 51.2, 980, 12,300; "-" for NaN. Beyond
// 1e-4 .. 1e12 with an exponent.
std::string format_number(double value);
// value +- half_width with the same decimals, e.g. "51.2 +-0.9"; without the second part when it is NaN.
std::string format_interval(double value, double half_width);
// All digits, thousands separated: 5,540.
std::string format_count(int64_t count);
// And what they count: 1 turn, 5,540 turns.
std::string format_count(int64_t count, std::string_view noun);
// A share as per cent: 0.935 is "93.5 %".
std::string format_percent(double share);

// Lines of at most `columns` characters, broken at spaces; lines after the first begin with `indent`. The end
// of a line in the paragraph is shown as plain_line() does.
std::vector<std::string> wrap(std::string_view paragraph, std::size_t columns, std::string_view indent = "");

}  // namespace kvcap
