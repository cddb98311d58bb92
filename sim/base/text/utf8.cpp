#include "base/text/utf8.h"

#include <algorithm>

namespace kvcap {

std::size_t character_bytes(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(i);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = i + 1; k < i + length; ++k)
    if ((byte(k) & 0xC0) != 0x80) return 0;
  if (length < 3) return length;
  // Longer than need be, surrogates, beyond U+10FFFF.
  const unsigned char second = byte(i + 1);
  const bool is_wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return is_wrong ? 0 : length;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = character_bytes(text, i);
    valid += bytes > 0 ? text.substr(i, bytes) : "\uFFFD";
    i += std::max<std::size_t>(bytes, 1);
  }
  return valid;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0, bytes = 0; i < text.size(); i += bytes) {
    bytes = character_bytes(text, i);
    if (bytes == 0) return false;
  }
  return true;
}

}  // namespace kvcap
