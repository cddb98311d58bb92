// All that kvcap writes to a terminal goes through here, but the progress bar: results to stdout, talk to
// stderr. Nothing in it is a control character.
#pragma once

#include <string_view>

namespace kvcap {

// Text or JSON on stdout. Lines end as in `page`.
void print(std::string_view page);

// As printf does. An argument is part of the page: one that may hold the end of a line goes through
// plain_line() first.
__attribute__((format(printf, 1, 2))) void print_format(const char* format, ...);

// One line on stderr, as message_line() has it.
void tell(std::string_view line);

}  // namespace kvcap
