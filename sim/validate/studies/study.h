// Study: a list of published or measured numbers, each with an expression over simulated figures that should
// equal the number. A study is a JSON file, kvcap.study/1; scenarios/reference/files.md lists its keys.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/text/names.h"
#include "metrics/result.h"
#include "scenario/scenario.h"
#include "validate/check.h"
#include "validate/kernels/kernel_sets.h"
#include "workload/generators/stored_contexts.h"

namespace kvcap {

// A setting of a study: a scenario, changes of it, and the values that expressions may use.
struct StudySetting {
  std::string scenario;  // path of a file, or a JSON object; empty: the scenario of the enclosing setting
  std::vector<std::string> changes;         // "path=value", as for --set
  std::map<std::string, int64_t> contexts;  // fields of StoredContexts; count > 0 replaces the workload
  std::string workload;                 // named workload as JSON (named_workloads.h); empty: the scenario's
  std::string missing;                  // required file that $KVCAP_DATA lacks; empty: none
  std::map<std::string, double> turns;  // bounds of the turns for turns.* (turn_figures.h)
  std::map<std::string, std::string> row;  // row of a CSV: column -> text

  // Returns this setting with the changes of `more` after its own.
  StudySetting with(const StudySetting& more) const;
  StoredContexts stored_contexts() const;
  // Returns contexts.tokens. Throws InputError if it is missing; the message does not name the file, which
  // callers add.
  int64_t tokens() const;
};

// How a check summarises its numbers over all settings. mean: the mean of each expression. interval: the mean
// of one expression, with its interval. farthest: the number that is farthest from its reference.
// median_error, worst_error: the median or largest error of all numbers, which is compared with a limit.
//
// Intervals are Student's t at a confidence of 99 % for all intervals of a study together (each of n at 1 -
// 0.01 / n: Bonferroni).
enum class Summary { none, mean, interval, farthest, median_error, worst_error };
inline constexpr std::string_view kSummaryNames[] = {"none",     "mean",         "interval",
                                                     "farthest", "median_error", "worst_error"};
constexpr Names names_of(Summary) { return kSummaryNames; }

// Places the numbers of a check in published figures (plots). The length of each list divides the count of
// numbers. If `x` is shorter than the numbers, it repeats; each item of the other lists applies to equally
// many successive numbers.
struct StudyCurve {
  std::vector<std::string> figures;  // empty: no figure
  std::vector<std::string> y_axes;
  std::vector<std::string> series;  // "": this number is in no figure
  std::vector<std::variant<double, std::string>> x;
  std::string x_value;  // an expression that replaces `x`, evaluated in every setting
};

struct StudyCheck {
  Check check;        // simulated numbers, error and verdict are not yet set
  std::string place;  // "study.json: checks.3"
  StudySetting setting;
  std::vector<StudySetting> each;       // settings in which the values are evaluated; at least one
  std::vector<std::string> values;      // expressions; empty: the number cannot be compared
  std::vector<std::string> references;  // one expression per value; empty: the numbers of `check`
  std::string holds;                    // order: a condition over x1, x2, ..., the simulated numbers
  Summary summary = Summary::none;
  double most = 0;     // limit of an error
  bool judged = true;  // false: the number is only shown with its reference
  std::string group;   // group for checks.GROUP.*; may be empty
  std::string family;  // family of runs whose model intervals are compared with `references`; may be empty
  StudyCurve curve;

  // Returns how many simulated numbers a curve shows: those left after the summary, or all if errors are
  // summarised.
  std::size_t numbers() const;
};

struct Study {
  std::string file;
  bool is_shipped = false;                       // scenarios are files embedded in the binary
  bool is_slow = false;                          // excluded from a quick validation
  StudySetting setting;                          // changes for all checks
  std::map<std::string, StudySetting> settings;  // key: name in expressions
  std::vector<StudyCheck> checks;
  std::string suite;
  KernelSets kernels;
  DataPath kernel_path;  // finds the tables of kernels
};

struct StudyOptions {
  bool quick = false;       // use the "quick" parts of settings
  std::string data_folder;  // replaces $KVCAP_DATA; empty: as for scenarios (scenario/data_files.h)
};
// Read a study. Both throw InputError.
Study load_study(const std::string& path, const StudyOptions& options = {});
Study read_study(std::string_view text, const std::string& file, bool is_shipped,
                 const StudyOptions& options);
// Returns the studies of this suite in scenarios/studies/, in the order of their files.
std::vector<Study> shipped_studies(std::string_view suite, const StudyOptions& options = {});

// A measured run of a real server, with the scenario and the workload that simulate it.
struct MeasuredRun {
  struct Asked {
    std::string expression;
    StudySetting setting;
  };
  std::string family;  // "vllm-h100"
  Scenario scenario;
  Workload workload;
  std::vector<double> measured;
  std::vector<Asked> asked;  // in the order of `measured`
  std::string gap;           // effects that the model is known to lack here; empty: none

  // Returns the means of a simulated run, in the order of `measured`.
  std::vector<double> simulated(const RunResult& result) const;
};
// Returns the runs of all checks with a family, each with its measured means.
std::vector<MeasuredRun> measured_runs(std::span<const Study> studies);

// Runs the simulations that the checks need, in parallel, and judges the checks. Throws InputError for names
// and scenarios that do not exist, before anything runs.
std::vector<Check> run_studies(std::span<const Study> studies);

// Returns the keys of a study as a JSON Schema for editors.
std::string study_json_schema();

}  // namespace kvcap
