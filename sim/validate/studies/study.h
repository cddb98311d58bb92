// Study: numbers that somebody published or measured, each beside the expression over simulated scenarios
// that should give it. A JSON file, kvcap.study/1; its keys are described in scenarios/studies/README.md.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validate/check.h"
#include "validate/studies/measured_run.h"
#include "workload/generators/stored_contexts.h"

namespace kvcap {

using Overrides = std::vector<std::string>;  // "path=value", as --set takes them

// A scenario and what is changed in it.
struct StudySetting {
  std::string scenario;  // the path of a file, or a JSON object; empty: that of the setting around this one
  Overrides changes;
  std::map<std::string, int64_t> contexts;  // fields of StoredContexts; count > 0 replaces the workload
  std::string workload;                     // JSON of a named one (workloads.h); empty: the scenario's
  std::string missing;                      // a file below $KVCAP_DATA that is not there
  std::map<std::string, double> turns;      // bounds of the turns that turns.* is about (TurnBounds)
  std::map<std::string, std::string> row;   // of a CSV, by column

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
  double most = 0;     // of an error
  bool judged = true;  // else the number is shown beside its reference
  std::string group;   // that checks.GROUP.* sums up; may be empty
  std::string family;  // of runs whose model intervals are held against `references`; may be empty
};

struct Study {
  std::string file;
  bool is_shipped = false;                       // scenarios are files of the binary
  bool is_slow = false;                          // left out of a quick validation
  StudySetting setting;                          // of all checks
  std::map<std::string, StudySetting> settings;  // by the names that expressions begin with
  std::vector<StudyCheck> checks;
};

struct StudyOptions {
  bool quick = false;       // settings take their "quick" parts
  std::string data_folder;  // for $KVCAP_DATA; empty: as scenarios find it (scenario/data_files.h)
};
// Throw InputError.
Study load_study(const std::string& path, const StudyOptions& options = {});
Study read_study(std::string_view text, const std::string& file, bool is_shipped,
                 const StudyOptions& options);
// Those of scenarios/studies/ whose suite has this name, in order of their files.
std::vector<Study> shipped_studies(std::string_view suite, const StudyOptions& options = {});

// The runs of all checks with a family, each with what was measured of it.
std::vector<MeasuredRun> measured_runs(std::span<const Study> studies);

// Simulates whatever the checks ask for, side by side, and judges them. Throws InputError before anything
// runs for names and scenarios that do not exist.
std::vector<Check> run_studies(std::span<const Study> studies);

}  // namespace kvcap
