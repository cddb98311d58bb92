#include "launch/shell_words.h"

#include <algorithm>
#include <cctype>

#include "base/input_error.h"

namespace kvcap {
namespace {

// Characters that word processors substitute for typed ones. A shell treats them as letters.
struct Typographic {
  std::string_view letter, name, meant;
};
constexpr Typographic kQuotes[] = {
    {"\u2018", "quote", "'"},  {"\u2019", "quote", "'"}, {"\u201c", "quote", "\""}, {"\u201d", "quote", "\""},
    {"\u201e", "quote", "\""}, {"\u00a0", "space", " "}, {"\u202f", "space", " "}};
constexpr Typographic kDashes[] = {{"\u2010", "dash", "-"}, {"\u2011", "dash", "-"}, {"\u2012", "dash", "-"},
                                   {"\u2013", "dash", "-"}, {"\u2014", "dash", "-"}, {"\u2015", "dash", "-"},
                                   {"\u2212", "dash", "-"}};

[[noreturn]] void refuse(const Typographic& one, std::string_view around) {
  std::string meant(one.meant);
  if (one.name == "dash") meant = "- and --";
  throw InputError("--from: found the typographic " + std::string(one.name) + " \"" +
                   std::string(one.letter) + "\" in \"" + std::string(around.substr(0, around.find(' '))) +
                   "\", allowed: " + (one.name == "space" ? "a plain space" : meant));
}

}  // namespace

std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool has_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (quote == 0) {
      const std::string_view rest = line.substr(i);
      for (const Typographic& one : kQuotes) {
        if (rest.starts_with(one.letter)) refuse(one, rest);
      }
      for (const Typographic& one : kDashes) {
        const bool leads = !has_word || word.find_first_not_of('-') == std::string::npos;
        if (leads && rest.starts_with(one.letter)) refuse(one, rest);
      }
    }
    if (quote == '\'' ? letter == '\'' : quote != 0 && letter == quote) {
      quote = 0;
    } else if (quote != '\'' && letter == '\\' && i + 1 < line.size()) {
      ++i;
      if (line[i] == '\r' && i + 1 < line.size() && line[i + 1] == '\n') ++i;
      if (line[i] == '\n') continue;
      if (quote == '"' && line[i] != '"' && line[i] != '\\') word += '\\';
      word += line[i];
      has_word = true;
    } else if (quote == 0 && (letter == '\'' || letter == '"')) {
      quote = letter;
      has_word = true;
    } else if (quote == 0 && letter == '#' && !has_word) {
      i = std::min(line.find('\n', i), line.size() - 1);
    } else if (quote == 0 && std::isspace(static_cast<unsigned char>(letter)) != 0) {
      if (has_word) words.push_back(word);
      word.clear();
      has_word = false;
    } else {
      word += letter;
      has_word = true;
    }
  }
  if (quote != 0) throw InputError(std::string("--from: found a quote ") + quote + " that is not closed");
  if (has_word) words.push_back(word);
  return words;
}

}  // namespace kvcap
