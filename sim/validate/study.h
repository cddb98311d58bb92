// Study: numbers that somebody published or measured, each beside the expression over simulated scenarios
// that should give it. A JSON file, kvcap.study/1; its keys are described in scenarios/studies/README.md.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validate/check.h"
#include "workload/stored_contexts.h"

namespace kvcap {

using Overrides = std::vector<std::string>;  // "path=value", as --set takes them

// A scenario and what is changed in it.
struct StudySetting {
  std::string scenario;  // the path of a file, or a JSON object; empty: that of the setting around this one
  Overrides changes;
  std::map<std::string, int64_t> contexts;  // fields of StoredContexts; count > 0 replaces the workload

  // As if the other one's changes were made after this one's.
  StudySetting with(const StudySetting& more) const;
  StoredContexts stored_contexts() const;
};

// What becomes of the numbers of all settings: of each expression the mean, or of all the error in the median
// or the worst, which is held against `reference`, a limit.
enum class Summary { none, mean, median_error, worst_error };

struct StudyCheck {
  Check check;        // all but what simulations say
  std::string place;  // "study.json: checks.3"
  StudySetting setting;
  std::vector<StudySetting> each;       // the values are taken in each of them; at least one
  std::vector<std::string> values;      // expressions; none: the number cannot be compared
  std::vector<std::string> references;  // expressions, as `values`; empty: the numbers of `check`
  std::string holds;                    // of an order: a condition over x1, x2, ..., the simulated numbers
  Summary summary = Summary::none;
  double most = 0;  // of an error
};

struct Study {
  std::string file;
  bool is_shipped = false;                       // scenarios are files of the binary
  std::map<std::string, StudySetting> settings;  // by the names that expressions begin with
  std::vector<StudyCheck> checks;
};

// `quick`: settings take their "quick" parts. Throws InputError.
Study load_study(const std::string& path, bool quick = false);
Study read_study(std::string_view text, const std::string& file, bool is_shipped, bool quick);
// Those of scenarios/studies/ whose suite has this name, in order of their files.
std::vector<Study> shipped_studies(std::string_view suite, bool quick = false);

// Simulates whatever the checks ask for, side by side, and judges them. Throws InputError before anything
// runs for names and scenarios that do not exist.
std::vector<Check> run_studies(std::span<const Study> studies);

}  // namespace kvcap
