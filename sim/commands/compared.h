// Compared: one of the settings that kvcap compare runs side by side, and how its options give them.
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

// One column: its label and its overrides.
struct Compared {
  std::string label;
  Overrides overrides;  // error messages name the option that each comes from
  bool is_bound = false;
  bool is_launched{};    // the launch line without changes
  std::string folder{};  // name of the column's folder under --out; empty: derived from its overrides
  std::string file{};    // the column's own scenario file; empty: the question's
};

// Returns the settings that the options ask for, at least one. Throws InputError.
std::vector<Compared> columns_of(const CompareArgs& args, const Question& question);
// Throws InputError, which names the option, if two settings are the same.
void refuse_twice(const std::vector<Compared>& columns, const char* option);
// Returns the name of the column's folder: "hcache", "hardware.ssd.count=8".
std::string folder_name(const Compared& column);
// Adds bounds for the last setting that stores state: no cache, unlimited storage, and Belady's eviction.
// Each bound is a set of overrides, so that --set can reproduce its result.
void add_bounds(const std::vector<Scenario>& scenarios, std::vector<Compared>& columns);

}  // namespace kvcap
