// Compared: one of the settings that kvcap compare runs side by side. columns_of() derives the settings from
// the options of the command.
#pragma once

#include <string>
#include <vector>

#include "commands/question.h"
#include "scenario/scenario.h"

namespace kvcap {

struct CompareArgs {
  QuestionArgs question;
  std::vector<std::string> others;  // further files
  std::string policies;
  std::vector<std::string> over;
  std::string layouts;
  bool bounds = false;
  std::string draws = "auto";
  std::vector<std::string> requirements;
  std::string out;
  bool resume = false;
  bool json = false;
  bool explain = false;
  bool dry_run = false;   // only check the settings
  bool progress = false;  // report progress as lines of JSON on stderr
};

// One setting, which is one column of the printed table.
struct Compared {
  std::string label;
  Overrides overrides;  // each names the option that it comes from, for error messages
  bool is_bound = false;
  bool is_launched{};    // true: the launch line of --from without changes
  std::string folder{};  // name of the column's folder under --out; empty: derived from its overrides
  std::string file{};    // the column's own scenario file; empty: the question's
};

// Returns the settings that the options ask for, at least one. Throws InputError.
std::vector<Compared> columns_of(const CompareArgs& args, const Question& question);
// Throws InputError if two settings are the same. `option`: its name, for the message.
void refuse_twice(const std::vector<Compared>& columns, const char* option);
// Returns the name of the column's folder: "hcache", "hardware.ssd.count=8".
std::string folder_name(const Compared& column);
// Adds bounds for the last setting that stores state: no cache, unlimited storage, and Belady's eviction.
// Each bound consists of overrides, so a user can reproduce its result with --set.
void add_bounds(const std::vector<Scenario>& scenarios, std::vector<Compared>& columns);

}  // namespace kvcap
