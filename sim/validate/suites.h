// The suites of kvcap validate: named groups of checks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "validate/check.h"

namespace kvcap {

struct SuiteOptions {
  bool quick = false;  // fewer replications and cases, but the same claims: all suites within three minutes
  // Folder of real traces and measurements, which are not part of the project. Checks whose files are missing
  // are not comparable.
  std::string data_folder = "../shared/data";
  bool needs_data = false;  // the user named the folder: a missing file is an error
};

// Returns the checks of the suite "uncertainty": whether the errors that profiles state follow from measured
// kernels, and how many measured means of real servers lie inside the resulting model intervals.
std::vector<Check> uncertainty_checks(const SuiteOptions& options);

// Returns the checks of all studies of a suite.
std::vector<Check> study_checks(std::string_view suite, const SuiteOptions& options);

std::string suite_names();
// Returns the checks of the named suites, in the order of the table; all suites if `names` is empty. Throws
// InputError for an unknown name.
std::vector<Check> run_suites(const std::vector<std::string>& names, const SuiteOptions& options = {});

}  // namespace kvcap
