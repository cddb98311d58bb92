// The suites of kvcap validate.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

struct SuiteOptions {
  bool quick = false;  // fewer replications and cases, the same claims: all suites within three minutes
  std::string data = "../shared/data";  // measurements that are no part of the project
};

std::string suite_names();
// The checks of the named suites, in the order of the table; of all when none is named. Throws InputError for
// an unknown name.
std::vector<Check> run_suites(const std::vector<std::string>& names, const SuiteOptions& options = {});

}  // namespace kvcap
