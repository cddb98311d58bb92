// Shell completions and the man page as plain text, generated from a description of the command line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/load.h"

namespace kvcap {

struct OptionText {
  std::string name;  // "--set"; for a positional its word: "scenario"
  std::string meaning;
  bool takes_value = false;
  std::vector<std::string> allowed;  // all allowed values; empty: any
};

struct CommandText {
  std::string name;
  std::string meaning;
  std::vector<OptionText> options, positionals;
  std::string examples;  // text of --help
};

// The words that may follow an option.
struct OptionValues {
  std::vector<std::string> words;
  bool or_files = true;
  bool is_list = false;  // several words with commas between them
};

struct ProgramText {
  std::string name, version, meaning;
  std::vector<CommandText> commands;
  std::vector<FieldHelp> fields;              // fields for --set and --over
  std::map<std::string, OptionValues> names;  // "--policies" to names of the catalogue
};

// Scripts that the shell sources, or that are installed for it.
std::string bash_completion(const ProgramText& program);
std::string zsh_completion(const ProgramText& program);
std::string fish_completion(const ProgramText& program);
// Returns the manual page of section 1, in the macros of man(7).
std::string manual_page(const ProgramText& program);

}  // namespace kvcap
