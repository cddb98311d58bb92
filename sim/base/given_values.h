// Checks of what stands on a command line, the same for kvcap and kvcap-calibrate. Only their main.cpp
// include this: CLI11 costs seconds in every file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_error.h"
#include "base/text/plain_text.h"

namespace kvcap {

inline constexpr const char* kEmptyValue =
    "found an empty text, allowed: a value (a shell variable that is not set is empty)";

// Makes an empty text an error for every option and argument of the program and its commands. None of them
// has a use for one: what is not wanted is left out.
inline void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    // First of the option's checks; a flag that is given alone has no text.
    option->transform(CLI::Validator(
        [](std::string& value) { return value.empty() ? std::string(kEmptyValue) : std::string(); }, ""));
  }
  for (CLI::App* command : app.get_subcommands(nullptr)) refuse_empty_values(*command);
}

// CLI11 takes the next word for the value of "--out=", whatever it is. Throws InputError.
inline void refuse_empty_assignments(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool is_short = word.size() == 3 && word[0] == '-' && word[1] != '-';
    const bool is_assignment = word.ends_with('=') && word.find('=') == word.size() - 1;
    if (is_assignment && (is_short || (word.starts_with("--") && word.find(' ') == std::string_view::npos)))
      throw InputError(std::string(word.substr(0, word.size() - 1)) + ": " + kEmptyValue);
  }
}

// One line of what was not expected: the first names, with the option or command that is near to a single
// one, and how many more there are.
inline std::string unexpected_text(const CLI::App& command) {
  std::vector<std::string> words = command.remaining(true);
  const std::string first = words.empty() ? "" : words.front();
  for (std::string& word : words) word = "\"" + word + "\"";
  std::string text = "found " + first_few(words) + ", which " + (words.size() == 1 ? "is" : "are") +
                     " not known to this command";
  if (words.size() != 1) return text;
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return text + suggestion(std::string_view(first).substr(0, first.find('=')), candidates);
}

}  // namespace kvcap
