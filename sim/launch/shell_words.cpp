#include "launch/shell_words.h"

#include <cctype>

#include "base/input_error.h"

namespace kvcap {

std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool has_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (quote == '\'' ? letter == '\'' : quote != 0 && letter == quote) {
      quote = 0;
    } else if (quote != '\'' && letter == '\\' && i + 1 < line.size()) {
      ++i;
      if (line[i] == '\n') continue;
      if (quote == '"' && line[i] != '"' && line[i] != '\\') word += '\\';
      word += line[i];
      has_word = true;
    } else if (quote == 0 && (letter == '\'' || letter == '"')) {
      quote = letter;
      has_word = true;
    } else if (quote == 0 && std::isspace(static_cast<unsigned char>(letter)) != 0) {
      if (has_word) words.push_back(word);
      word.clear();
      has_word = false;
    } else {
      word += letter;
      has_word = true;
    }
  }
  if (quote != 0) throw InputError(std::string("--from: found a quote ") + quote + " that does not end");
  if (has_word) words.push_back(word);
  return words;
}

}  // namespace kvcap
