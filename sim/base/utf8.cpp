#include "base/utf8.h"

namespace kvcap {
namespace {

// Whether a character of UTF-8 begins at i, `length` bytes long.
bool is_character(std::string_view text, std::size_t i, std::size_t& length) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(i);
  length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || i + length > text.size()) return false;
  for (std::size_t k = i + 1; k < i + length; ++k)
    if ((byte(k) & 0xC0) != 0x80) return false;
  if (length < 3) return true;
  // Longer than need be, surrogates, beyond U+10FFFF.
  const unsigned char second = byte(i + 1);
  return !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second > 0x9F) &&
         !(first == 0xF0 && second < 0x90) && !(first == 0xF4 && second > 0x8F);
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = 0;
    if (is_character(text, i, length)) {
      valid += text.substr(i, length);
      i += length;
    } else {
      valid += "\uFFFD";
      ++i;
    }
  }
  return valid;
}

bool is_utf8(std::string_view text) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < text.size(); i += length) {
    if (!is_character(text, i, length)) return false;
  }
  return true;
}

}  // namespace kvcap
