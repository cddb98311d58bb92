#include "base/text/width.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <span>
#include <string_view>

#include "base/text/format.h"
#include "base/text/utf8.h"

namespace kvcap {
namespace {

std::size_t given_columns() {
  const char* const text = std::getenv("COLUMNS");
  const std::string_view given = text ? text : "";
  std::size_t columns = 0;
  const auto read = std::from_chars(given.data(), given.data() + given.size(), columns);
  return read.ec == std::errc() && read.ptr == given.data() + given.size() ? columns : 0;
}

struct CodePoints {
  char32_t first, last;
};
constexpr CodePoints kJoined[] = {{0x300, 0x36F},   {0x200B, 0x200F}, {0x20D0, 0x20FF},
                                  {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}};
// Wide and full-width characters according to Unicode Standard Annex 11, in whole blocks.
constexpr CodePoints kWide[] = {{0x1100, 0x115F},  {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97C},
                                {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},
                                {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF},
                                {0x20000, 0x3FFFD}};

bool is_in(std::span<const CodePoints> ranges, char32_t one) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [one](const CodePoints& range) { return range.first <= one && one <= range.last; });
}

// Returns the code point of one character in UTF-8.
char32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  char32_t point = first & (0x7Fu >> character.size());
  for (const char next : character.substr(1)) point = point << 6 | (static_cast<unsigned char>(next) & 0x3Fu);
  return point;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0, bytes = 0; i < text.size(); i += bytes) {
    bytes = std::max<std::size_t>(character_bytes(text, i), 1);
    const char32_t point = code_point(text.substr(i, bytes));
    width += is_in(kJoined, point) ? 0 : is_in(kWide, point) ? 2 : 1;
  }
  return width;
}

std::size_t table_columns() {
  constexpr std::size_t kLeast = 40, kMost = 400;
  if (const std::size_t given = given_columns(); given > 0) return std::clamp(given, kLeast, kMost);
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
    return std::clamp<std::size_t>(window.ws_col, kLeast, kMost);
  return kTextColumns;
}

std::size_t text_columns() { return std::min(table_columns(), kTextColumns); }

}  // namespace kvcap
