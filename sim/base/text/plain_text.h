// Makes texts from files, flags and servers safe to show. Terminals, Markdown and spreadsheets act on some
// characters instead of showing them: control characters, line ends, marks of the writing direction.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// Returns one line: replaces such characters by JSON escapes ("\u001b", "\u202e", "\n"), so that a JSON text
// keeps its meaning, and bytes that are not UTF-8 by U+FFFD.
std::string plain_line(std::string_view text);

// Returns a text of several lines: escapes as plain_line() does, but keeps line ends.
std::string plain_page(std::string_view text);

// Returns one line for a message. In words and quoted texts of more than 400 bytes, and in messages of more
// than 3,000 bytes, the number of bytes replaces the middle.
std::string message_line(std::string_view text);

// Returns the first `most` bytes and "...", or a shorter text unchanged. A quoted text keeps its closing
// quotation mark.
std::string beginning(std::string_view text, std::size_t most = 80);

// Returns "a, b, c and 8,997 more" for a long list; shows at most `shown` texts.
std::string first_few(const std::vector<std::string>& texts, std::size_t shown = 3);

// Returns the word, in quotes if a shell would otherwise change it.
std::string shell_word(const std::string& word);

}  // namespace kvcap
