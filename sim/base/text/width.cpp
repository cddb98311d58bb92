#include "base/text/width.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/text/format.h"

namespace kvcap {
namespace {

std::size_t given_columns() {
  const char* const text = std::getenv("COLUMNS");
  const std::string_view given = text ? text : "";
  std::size_t columns = 0;
  const auto read = std::from_chars(given.data(), given.data() + given.size(), columns);
  return read.ec == std::errc() && read.ptr == given.data() + given.size() ? columns : 0;
}

}  // namespace

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
