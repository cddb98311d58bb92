// Checks and repairs UTF-8, the only encoding that JSON allows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvcap {

// Returns the text with U+FFFD for every byte that is not UTF-8.
std::string valid_utf8(std::string_view text);
bool is_utf8(std::string_view text);

// Returns the length of the UTF-8 character that begins at byte i of the text; 0 if no valid character begins
// there.
std::size_t character_bytes(std::string_view text, std::size_t i);

}  // namespace kvcap
