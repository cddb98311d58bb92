// The width of what is printed for people: that of the terminal.
#pragma once

#include <cstddef>
#include <string_view>

namespace kvcap {

// Returns COLUMNS where it is set, else the width of the terminal, else kTextColumns; 40 to 400 in any case.
std::size_t table_columns();
// Returns the same for sentences, which are hard to read beyond kTextColumns.
std::size_t text_columns();

// Returns the columns that a text in UTF-8 takes: 2 for a wide letter (Chinese, Japanese, Korean, emoji), 0
// for an accent that joins the letter before it.
std::size_t display_width(std::string_view text);

}  // namespace kvcap
