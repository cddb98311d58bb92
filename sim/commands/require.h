// --require: conditions on metrics that decide the exit code, for CI. "p99_ttft_ms<=500" bounds the metric,
// "p99_ttft_ms<=+2%" its difference against the first setting of a comparison. A condition holds only if the
// whole interval meets it.
#pragma once

#include <string>
#include <vector>

#include "documents/document.h"
#include "metrics/recorder.h"
#include "metrics/result.h"
#include "plan/search/plan.h"
#include "plan/search/plan_judge.h"

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
// Throws CheckFailed with the first condition that does not hold.
void check_requirements(const std::vector<Requirement>& requirements, const RunResult& result);
// Throws CheckFailed with the first condition that the answer of a plan does not meet.
void check_requirements(const std::vector<Requirement>& requirements, const Candidate& answer);
// Throws CheckFailed with the first condition that a setting of a comparison does not meet. `results`: the
// first is the one that `differences` compare with; bounds are left out.
void check_requirements(const std::vector<Requirement>& requirements, const std::vector<RunResult>& results,
                        const std::vector<Difference>& differences);

// Parses conditions on differences. Throws InputError for a value without a sign.
std::vector<Requirement> parse_difference_requirements(const std::vector<std::string>& texts);
// Throws CheckFailed with the first condition that a result does not meet against the same setting before, or
// that no result of both sides has.
void check_requirements(const std::vector<Requirement>& requirements,
                        const std::vector<ReportDocument>& documents);

}  // namespace kvcap
