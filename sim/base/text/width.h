// The widths of tables, of sentences and of texts, in columns of the terminal.
#pragma once

#include <cstddef>
#include <string_view>

namespace kvcap {

// Returns the width for tables, limited to 40 to 400: COLUMNS if it is set, else the width of the terminal,
// else kTextColumns.
std::size_t table_columns();
// Returns the width for sentences: at most kTextColumns, because longer lines are hard to read.
std::size_t text_columns();

// Returns how many columns a UTF-8 text takes: 2 for a wide character (Chinese, Japanese, Korean, emoji), 0
// for an accent that combines with the letter before it.
std::size_t display_width(std::string_view text);

}  // namespace kvcap
