// Shell completions and the man page as plain text, generated from a description of the command line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/load.h"

namespace kvcap {

struct OptionText {
  std::string name;  // "--set"; for a positional argument, its name: "scenario"
  std::string meaning;
  bool takes_value = false;
  std::vector<std::string> allowed;  // all allowed values; empty: any
};

struct CommandText {
  std::string name;
  std::string meaning;
  std::vector<OptionText> options, positionals;
  std::string examples;  // from the end of --help
};

// The values that an option may have.
struct OptionValues {
  std::vector<std::string> words;
  bool or_files = true;  // a path is allowed, too
  bool is_list = false;  // several words, separated by commas
};

struct ProgramText {
  std::string name, version, meaning;
  std::vector<CommandText> commands;
  std::vector<FieldHelp> fields;              // fields for --set and --over
  std::map<std::string, OptionValues> names;  // key: an option that takes catalogue names, such as "--model"
};

// Return completion scripts, to be sourced by the shell or installed for it.
std::string bash_completion(const ProgramText& program);
std::string zsh_completion(const ProgramText& program);
std::string fish_completion(const ProgramText& program);
// Returns the manual page of section 1, in the macros of man(7).
std::string manual_page(const ProgramText& program);

}  // namespace kvcap
