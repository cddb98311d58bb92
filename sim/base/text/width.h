// The width of what is printed for people: that of the terminal.
#pragma once

#include <cstddef>

namespace kvcap {

// Returns COLUMNS where it is set, else the width of the terminal, else kTextColumns; 40 to 400 in any case.
std::size_t table_columns();
// Returns the same for sentences, which are hard to read beyond kTextColumns.
std::size_t text_columns();

}  // namespace kvcap
