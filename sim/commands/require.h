// --require: conditions on metrics that decide the exit code, for CI.
#pragma once

#include <string>
#include <vector>

#include "metrics/result.h"
#include "plan/search/plan.h"

namespace kvcap {

struct Requirement {
  std::string text;  // text as given
  std::string metric;
  std::string relation;  // <= >= < > ==
  double bound = 0;
};

// Parses conditions. Throws InputError unless they are METRIC RELATION NUMBER with the name of a metric.
std::vector<Requirement> parse_requirements(const std::vector<std::string>& texts);
// Parses conditions of another option, which messages name.
std::vector<Requirement> parse_conditions(const char* option, const std::vector<std::string>& texts);
// Parses the targets of --meet. Throws InputError unless the relations are <=, >= or ==.
std::vector<Target> parse_targets(const std::vector<std::string>& texts);
// Throws CheckFailed with the first condition that does not hold.
void check_requirements(const std::vector<Requirement>& requirements, const RunResult& result);

}  // namespace kvcap
