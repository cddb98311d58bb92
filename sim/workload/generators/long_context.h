// The sub-tasks that the generator `long_context` knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

std::vector<std::string> long_context_tasks();

// "a, b" are "a" and "b"; nothing is an empty list.
std::vector<std::string> split_names(std::string_view text);

}  // namespace kvcap
