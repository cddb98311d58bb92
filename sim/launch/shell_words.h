// Words of a command line, split as a shell splits them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// Understands quotes, backslashes, line ends behind a backslash and comments. Throws InputError for a quote
// that does not end, and for what word processors make of quotes, dashes and spaces.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace kvcap
