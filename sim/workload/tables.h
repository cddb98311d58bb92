// What generators draw from: quantile tables that travel inside the binary.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kvcap {

// The text of an embedded file; the program is wrong where there is none.
std::string_view embedded_text(std::string_view path);

// The value at probability p, linear between the table's points, at least one token.
// REQUIRES: probabilities ascend from 0 to 1, one for each value.
int64_t table_quantile(const std::vector<double>& probabilities, const std::vector<double>& values, double p);

}  // namespace kvcap
