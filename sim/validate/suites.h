// The suites of kvcap validate.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

struct SuiteOptions {
  bool quick = false;  // fewer replications and cases, the same claims: all suites within three minutes
  // Real traces and measurements that are no part of the project. What needs some that are not there cannot
  // be compared.
  std::string data_folder = "../shared/data";
};

// One file each: xxx_checks is sim/validate/xxx.cpp.
std::vector<Check> queueing_checks(const SuiteOptions& options);
std::vector<Check> hits_checks(const SuiteOptions& options);

std::string suite_names();
// The checks of the named suites, in the order of the table; of all when none is named. Throws InputError for
// an unknown name.
std::vector<Check> run_suites(const std::vector<std::string>& names, const SuiteOptions& options = {});

}  // namespace kvcap
