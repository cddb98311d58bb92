// Checks command-line values for kvcap and kvcap-calibrate. Only their main.cpp files include this header,
// because CLI11 adds seconds to the compilation of each file.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"

namespace kvcap {

inline constexpr const char* kEmptyValue =
    "found an empty text, allowed: a value (a shell variable that is not set is empty)";

// Makes an empty text an error for every option and argument of the program and its commands. None of them
// needs an empty text: an unwanted option is omitted.
inline void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    // transform() puts this check first. A flag without a value has no text.
    option->transform(CLI::Validator(
        [](std::string& value) { return value.empty() ? std::string(kEmptyValue) : std::string(); }, ""));
  }
  for (CLI::App* command : app.get_subcommands(nullptr)) refuse_empty_values(*command);
}

// Throws InputError for a word such as "--out=": CLI11 would use the next word as its value.
inline void refuse_empty_assignments(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool is_short = word.size() == 3 && word[0] == '-' && word[1] != '-';
    const bool is_assignment = word.ends_with('=') && word.find('=') == word.size() - 1;
    if (is_assignment && (is_short || (word.starts_with("--") && word.find(' ') == std::string_view::npos)))
      throw InputError(std::string(word.substr(0, word.size() - 1)) + ": " + kEmptyValue);
  }
}

// Names that other programs use, each with the option of kvcap that is suggested instead if the command has
// it.
inline constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"--tp", "--gpus"},  {"--tensor-parallel-size", "--gpus"},  {"--qps", "--rate"},
    {"--rps", "--rate"}, {"--request-rate", "--rate"},          {"--gpu", "--hardware"},
    {"--slo", "--meet"}, {"--max-concurrency", "--concurrency"}};

// Explains how to give several values of one option: "; ... --set and --require are given once per value".
inline std::string several_values_text(const CLI::App& command) {
  std::vector<std::string> repeated;
  for (const CLI::Option* option : command.get_options()) {
    const bool is_list = option->get_items_expected_max() > 1;
    if (!is_list || option->get_allow_extra_args() || option->get_lnames().empty()) continue;
    repeated.push_back("--" + option->get_lnames().front());
  }
  const char* verb = repeated.size() == 1 ? " is" : " are";
  return "; several values of one option are separated by commas" +
         (repeated.empty() ? "" : ", and " + listed(repeated) + verb + " given once per value");
}

// Returns one line about unexpected words: the first few, the number of others and, for a single word, the
// most similar option.
inline std::string unexpected_text(const CLI::App& command) {
  std::vector<std::string> words = command.remaining(true);
  const std::string first = words.empty() ? "" : words.front();
  for (std::string& word : words) word = "\"" + word + "\"";
  std::string text = "found " + first_few(words) + ", which " + (words.size() == 1 ? "is" : "are") +
                     " not known to this command";
  if (!first.starts_with('-')) text += several_values_text(command);
  if (words.size() != 1) return text;
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  for (const auto& [other, name] : kOtherNames) {
    const bool has_it = std::find(names.begin(), names.end(), name) != names.end();
    if (first.substr(0, first.find('=')) == other && has_it)
      return text + "; did you mean \"" + std::string(name) + "\"?";
  }
  return text + suggestion(std::string_view(first).substr(0, first.find('=')), candidates);
}

}  // namespace kvcap
