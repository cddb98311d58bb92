// Names of the sub-tasks that the generator `long_context` supports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

std::vector<std::string> long_context_tasks();

// Splits "a, b" into "a" and "b"; an empty text gives an empty list.
std::vector<std::string> split_names(std::string_view text);

}  // namespace kvcap
