// Splits a command line into words as a shell does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// Handles quotes, backslashes, continued lines and comments. Throws InputError for an unclosed quote, and for
// typographic quotes, dashes and spaces.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace kvcap
