// Text of files, flags and servers as a person may see it. A terminal, Markdown or a spreadsheet obeys some
// characters instead of showing them: control characters, ends of lines, marks of the direction of writing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// One line: such characters become JSON's escapes ("\u001b", "\u202e", "\n"), so that a text in JSON means
// the same as before. Bytes that are not UTF-8 become U+FFFD.
std::string plain_line(std::string_view text);

// The same for a page, whose ends of lines stay.
std::string plain_page(std::string_view text);

// A line of a message: words and quoted texts of more than 400 bytes, and messages of more than 3,000, lose
// their middle; how long they were takes its place.
std::string message_line(std::string_view text);

// Its first `most` bytes and "..."; a quoted text stays quoted.
std::string beginning(std::string_view text, std::size_t most = 80);

// "a, b, c and 8,997 more" of a long list; at most `shown` texts.
std::string first_few(const std::vector<std::string>& texts, std::size_t shown = 3);

}  // namespace kvcap
