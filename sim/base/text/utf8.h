// Text from anywhere as UTF-8, which is all that JSON can hold.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvcap {

// With U+FFFD for every byte that is not UTF-8.
std::string valid_utf8(std::string_view text);
bool is_utf8(std::string_view text);

// Bytes of the UTF-8 character that begins at byte i of the text; 0 where none does.
std::size_t character_bytes(std::string_view text, std::size_t i);

}  // namespace kvcap
