// Writes everything that kvcap prints except the progress bar: results to stdout, messages to stderr. Control
// characters are escaped.
#pragma once

#include <string_view>

namespace kvcap {

// Prints text or JSON on stdout; keeps the line ends of `page`.
void print(std::string_view page);

// Prints like printf. Line ends in arguments are kept too: pass texts that may contain one through
// plain_line() first.
__attribute__((format(printf, 1, 2))) void print_format(const char* format, ...);

// Prints one line on stderr, escaped and shortened by message_line().
void tell(std::string_view line);

}  // namespace kvcap
