// --require: conditions on metrics that decide the exit code, for CI. "p99_ttft_ms<=500" bounds the metric,
// "p99_ttft_ms<=+2%" its difference against the first setting of a comparison. A condition holds only if the
// whole interval meets it.
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
  std::string text;  // text as given
  std::string metric;
  std::string relation;  // <= >= < > ==
  double bound = 0;
  bool is_difference = false;  // "+20", "-3%": against the first setting
  bool is_share = false;       // the bound is a share of the first setting's metric
};

// Parses conditions. Throws InputError unless they are METRIC RELATION NUMBER with the name of a metric.
std::vector<Requirement> parse_requirements(const std::vector<std::string>& texts,
                                            bool has_differences = false);
// Parses conditions of another option, which messages name.
std::vector<Requirement> parse_conditions(const char* option, const std::vector<std::string>& texts);
// Parses the targets of --meet. Throws InputError unless the relations are <=, >= or ==.
std::vector<Target> parse_targets(const std::vector<std::string>& texts);
// A condition and what was found: of one setting, or between two.
struct CheckedRequirement {
  std::string text;  // "p99_ttft_ms<=+2%"; empty: turns that no condition allows
  std::string metric = {};
  std::string setting, against = {};
  double found = 0, half_width = 0;  // NaN: no interval
  bool is_share = false;             // `found` is in per cent
  std::string failure = {};          // empty: it holds
};
using CheckedRequirements = std::vector<CheckedRequirement>;

// Check conditions on a run and on the answer of a plan.
CheckedRequirements check_requirements(const std::vector<Requirement>& requirements, const RunResult& result);
CheckedRequirements check_requirements(const std::vector<Requirement>& requirements, const Candidate& answer);
// Checks conditions on every setting of a comparison. `results`: the first is the one that `differences`
// compare with; bounds are left out.
CheckedRequirements check_requirements(const std::vector<Requirement>& requirements,
                                       const std::vector<RunResult>& results,
                                       const std::vector<Difference>& differences);

// Returns a line for each condition that holds, after an empty line; "" if none does.
std::string holds_text(const CheckedRequirements& checked);
// Adds the key "requirements" to the text of a JSON object; returns it unchanged without conditions.
std::string with_requirements(const std::string& json, const CheckedRequirements& checked);
// Throws CheckFailed with the first condition that does not hold.
void require_all(const CheckedRequirements& checked);

// Parses conditions on differences. Throws InputError for a value without a sign.
std::vector<Requirement> parse_difference_requirements(const std::vector<std::string>& texts);
// Checks conditions on results against those of the same settings before. A condition without a result on
// both sides does not hold.
CheckedRequirements check_requirements(const std::vector<Requirement>& requirements,
                                       const std::vector<ReportDocument>& documents);

}  // namespace kvcap
