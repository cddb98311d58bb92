// --require: conditions on metrics that decide the exit code, for use in CI. "p99_ttft_ms<=500" bounds a
// metric, "p99_ttft_ms<=+2%" bounds its difference from the first setting of a comparison. A condition holds
// only if the whole interval meets it.
#pragma once

#include <string>
#include <vector>

#include "advise/judge.h"
#include "documents/document.h"
#include "metrics/recorder.h"
#include "metrics/result.h"
#include "plan/plan.h"

namespace kvcap {

struct Requirement {
  std::string text;  // as given
  std::string metric;
  std::string relation;  // <= >= < > ==
  double bound = 0;
  bool is_difference = false;  // "+20", "-3%": the bound is on the difference from the first setting
  bool is_share = false;       // "-3%": the bound is relative to the value of the first setting
};

// Parses conditions. Throws InputError unless they are METRIC RELATION NUMBER with the name of a metric.
std::vector<Requirement> parse_requirements(const std::vector<std::string>& texts,
                                            bool has_differences = false);
// Parses the conditions of any option; error messages name it.
std::vector<Requirement> parse_conditions(const char* option, const std::vector<std::string>& texts);
// Parses the targets of --meet. Throws InputError unless the relations are <=, >= or ==.
std::vector<Target> parse_targets(const std::vector<std::string>& texts);
// A condition and the value that was found for one setting, or the difference between two.
struct CheckedRequirement {
  std::string text;  // "p99_ttft_ms<=+2%"; empty: turns that no condition allows
  std::string metric = {};
  std::string setting, against = {};
  double found = 0, half_width = 0;  // NaN: no interval
  bool is_share = false;             // `found` is in per cent
  std::string failure = {};          // empty: it holds
};
using CheckedRequirements = std::vector<CheckedRequirement>;

// Check conditions on a run, and on the answer of a plan.
CheckedRequirements check_requirements(const std::vector<Requirement>& requirements, const RunResult& result);
CheckedRequirements check_requirements(const std::vector<Requirement>& requirements, const Candidate& answer);
// Checks conditions on every setting of a comparison except the bounds of --bounds. `differences`: of each
// setting from the first of `results`.
CheckedRequirements check_requirements(const std::vector<Requirement>& requirements,
                                       const std::vector<RunResult>& results,
                                       const std::vector<Difference>& differences);

// Returns an empty line and a line for each condition that holds; "" if none does.
std::string holds_text(const CheckedRequirements& checked);
// Returns the text of a JSON object with the key "requirements" added. If there are no conditions, returns
// `json` unchanged.
std::string with_requirements(const std::string& json, const CheckedRequirements& checked);
// Throws CheckFailed with the first condition that does not hold.
void require_all(const CheckedRequirements& checked);

// Parses conditions on differences. Throws InputError for a value without a sign.
std::vector<Requirement> parse_difference_requirements(const std::vector<std::string>& texts);
// Checks conditions on the differences between results and earlier results of the same settings. A condition
// fails if no setting has a result on both sides.
CheckedRequirements check_requirements(const std::vector<Requirement>& requirements,
                                       const std::vector<ReportDocument>& documents);

}  // namespace kvcap
