// Names of the sub-tasks that the generator `long_context` supports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

std::vector<std::string> long_context_tasks();

// Splits "a, b" into "a" and "b"; returns an empty list for an empty text.
std::vector<std::string> split_names(std::string_view text);

}  // namespace kvcap
