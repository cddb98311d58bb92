// What a shell and man(1) want to know of the command line, as plain text made from a description of it, so
// that neither can say anything else than the program does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenario/load.h"

namespace kvcap {

struct OptionText {
  std::string name;  // "--set"; a positional's is its word: "scenario"
  std::string meaning;
  bool takes_value = false;
  std::vector<std::string> allowed;  // the only values; empty: any
};

struct CommandText {
  std::string name;
  std::string meaning;
  std::vector<OptionText> options, positionals;
  std::string examples;  // as --help prints them
};

struct ProgramText {
  std::string name, version, meaning;
  std::vector<CommandText> commands;
  std::vector<FieldHelp> fields;      // that --set and --over take
  std::vector<std::string> policies;  // that --policies takes
};

// Scripts to be sourced by, or installed for, the shell.
std::string bash_completion(const ProgramText& program);
std::string zsh_completion(const ProgramText& program);
std::string fish_completion(const ProgramText& program);
// The manual page of section 1, in the macros of man(7).
std::string manual_page(const ProgramText& program);

}  // namespace kvcap
