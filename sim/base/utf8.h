// Text from anywhere as UTF-8, which is all that JSON can hold.
#pragma once

#include <string>
#include <string_view>

namespace kvcap {

// With U+FFFD for every byte that is not UTF-8.
std::string valid_utf8(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace kvcap
