#include "base/text/json_error.h"

#include <algorithm>

#include "base/text/plain_text.h"

namespace kvcap {

std::string json_place(std::string_view text, std::size_t byte, const std::string& file) {
  if (byte == 0) return file + ": ";
  const std::string_view before = text.substr(0, byte - 1);
  const int64_t line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

std::string repeated_key(std::string_view path, std::string_view key) {
  return (path.empty() ? "" : beginning(path) + ": ") + "key \"" + beginning(key) +
         "\" is given twice in one object";
}

bool is_nested_too_deep(std::string_view text) {
  constexpr int kMaxLevels = 100;
  int levels = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      if (++levels > kMaxLevels) return true;
    } else if (!in_string && (c == '}' || c == ']')) {
      --levels;
    }
  }
  return false;
}

std::string json_reason(std::string_view what) {
  const std::size_t place = what.find("column ");
  const std::string_view end_of_prefix = place == std::string_view::npos ? "] " : ": ";
  const std::size_t end = what.find(end_of_prefix, place == std::string_view::npos ? 0 : place);
  const std::string_view reason = end == std::string_view::npos ? what : what.substr(end + 2);
  // nlohmann/json 3.11.3 has a special message for empty input; this is the message of other versions.
  if (reason.starts_with("attempting to parse an empty input")) {
    return "syntax error while parsing value - unexpected end of input; expected '[', '{', or a literal";
  }
  return std::string(reason);
}

}  // namespace kvcap
