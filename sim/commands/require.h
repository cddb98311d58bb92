// --require: conditions on metrics that decide the exit code, for CI.
#pragma once

#include <string>
#include <vector>

#include "metrics/result.h"

namespace kvcap {

struct Requirement {
  std::string text;  // as given
  std::string metric;
  std::string relation;  // <= >= < > ==
  double bound = 0;
};

// Throws InputError for a condition that is not METRIC RELATION NUMBER, or whose metric no result has.
std::vector<Requirement> parse_requirements(const std::vector<std::string>& texts);
// The same for an option of another name.
std::vector<Requirement> parse_conditions(const char* option, const std::vector<std::string>& texts);
// Throws CheckFailed naming the first condition that does not hold.
void check_requirements(const std::vector<Requirement>& requirements, const RunResult& result);

}  // namespace kvcap
