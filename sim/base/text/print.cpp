#include "base/text/print.h"

#include <cstdarg>
#include <cstdio>
#include <string>

#include "base/text/plain_text.h"

namespace kvcap {

void print(std::string_view page) {
  const std::string plain = plain_page(page);
  std::fwrite(plain.data(), 1, plain.size(), stdout);
}

void print_format(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int bytes = std::vsnprintf(nullptr, 0, format, arguments);
  std::string text(bytes > 0 ? static_cast<std::size_t>(bytes) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(arguments);
  print(text);
}

void tell(std::string_view line) {
  const std::string text = message_line(line) + "\n";
  std::fputs(text.c_str(), stderr);
}

}  // namespace kvcap
