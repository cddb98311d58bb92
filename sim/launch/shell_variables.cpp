#include "launch/shell_variables.h"

#include <cctype>
#include <cstddef>

namespace kvcap {

std::string ShellVariables::expanded(const std::string& word,
                                     const std::function<void(const std::string&)>& note) const {
  std::string text;
  for (std::size_t i = 0; i < word.size();) {
    if (word[i] != '$' || i + 1 == word.size()) {
      text += word[i++];
      continue;
    }
    const bool has_braces = word[i + 1] == '{';
    const std::size_t begin = i + 1 + has_braces;
    std::size_t end = begin;
    while (end < word.size() &&
           (std::isalnum(static_cast<unsigned char>(word[end])) != 0 || word[end] == '_'))
      ++end;
    const std::size_t close = has_braces ? word.find('}', end) : end;
    if (end == begin || close == std::string::npos) {
      text += word[i++];
      continue;
    }
    const std::string name = word.substr(begin, end - begin), more = word.substr(end, close - end);
    const auto known = values_.find(name);
    if (known != values_.end()) {
      text += known->second;
    } else if (more.starts_with(":-") || more.starts_with("-")) {
      const std::string other = more.substr(more.find('-') + 1);
      note("$" + name + " is not set on the line; its default " + other + " is used");
      text += other;
    } else {
      text += word.substr(i, close + has_braces - i);
    }
    i = close + has_braces;
  }
  return text;
}

}  // namespace kvcap
