// Words of a command line, split as a shell splits them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// Understands quotes, backslashes, and line ends behind a backslash. Throws InputError for a quote that does
// not end.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace kvcap
