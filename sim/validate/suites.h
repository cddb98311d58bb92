// The suites of kvcap validate.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validate/check.h"

namespace kvcap {

struct SuiteOptions {
  bool quick = false;  // fewer replications and cases, the same claims: all suites within three minutes
  // Real traces and measurements that are no part of the project. What needs some that are not there cannot
  // be compared.
  std::string data_folder = "../shared/data";
  bool needs_data = false;  // somebody named the folder: what is not there is an error
};

// One file each: xxx_checks is sim/validate/xxx.cpp.
std::vector<Check> queueing_checks(const SuiteOptions& options);
// Kernels (measured_kernels.cpp) and a whole run (vllm_run.cpp).
std::vector<Check> measured_checks(const SuiteOptions& options);
std::vector<Check> hits_checks(const SuiteOptions& options);
// The hit rate of a real vLLM over time (`data`/runs/llmservingsim-ispass26).
std::vector<Check> pulse_checks(const std::string& data);

// The errors that profiles state, computed again from the kernels that were measured, and how many measured
// means of real servers the model intervals contain that follow from them.
std::vector<Check> uncertainty_checks(const SuiteOptions& options);

// Of the studies of a suite.
std::vector<Check> study_checks(std::string_view suite, const SuiteOptions& options);

std::string suite_names();
// What README shows line by line.
std::span<const Headline> headlines();
// The checks of the named suites, in the order of the table; of all when none is named. Throws InputError for
// an unknown name.
std::vector<Check> run_suites(const std::vector<std::string>& names, const SuiteOptions& options = {});

}  // namespace kvcap
