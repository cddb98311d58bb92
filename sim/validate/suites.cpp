#include "validate/suites.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "validate/studies/fit_pairs.h"
#include "validate/studies/study.h"
#include "validate/twin.h"

namespace kvcap {
namespace {

struct Suite {
  std::string_view name;
  std::vector<std::string_view> data = {};                              // required parts of the data folder
  std::vector<Check> (*checks)(const SuiteOptions& options) = nullptr;  // null: studies
};

std::vector<Check> stored_twin_checks(const SuiteOptions&) { return twin_checks(); }

const std::array kSuites = {Suite{"papers"},
                            Suite{"queueing"},
                            Suite{"measured", {"hardware", "vllm-real", "runs"}},
                            Suite{"fit", {"runs"}, fit_checks},
                            Suite{"stacks", {"runs"}},
                            Suite{"hits", {"traces/mooncake_conversation_trace.jsonl.gz"}},
                            Suite{"uncertainty", {"hardware", "device", "runs"}, uncertainty_checks},
                            Suite{"fidelity"},
                            Suite{"twin", {}, stored_twin_checks}};

bool is_asked_for(const Suite& suite, const std::vector<std::string>& names) {
  return names.empty() || std::find(names.begin(), names.end(), suite.name) != names.end();
}

}  // namespace

std::string suite_names() { return joined(kSuites, ", ", &Suite::name); }

std::vector<Check> study_checks(std::string_view suite, const SuiteOptions& options) {
  return run_studies(shipped_studies(suite, {.quick = options.quick, .data_folder = options.data_folder}));
}

std::vector<Check> run_suites(const std::vector<std::string>& names, const SuiteOptions& options) {
  for (const std::string& name : names) {
    std::vector<std::string_view> known;
    for (const Suite& suite : kSuites) known.push_back(suite.name);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw InputError("--suite: found \"" + name + "\", allowed: " + suite_names() +
                       suggestion(name, known));
    }
  }
  for (const Suite& suite : kSuites) {
    if (!options.needs_data || !is_asked_for(suite, names)) continue;
    for (const std::string_view path : suite.data) {
      if (std::filesystem::exists(options.data_folder + "/" + std::string(path))) continue;
      throw InputError("--data: found no " + std::string(path) + " in " + options.data_folder +
                       ", which the suite " + std::string(suite.name) + " reads");
    }
  }
  std::vector<Check> checks;
  for (const Suite& suite : kSuites) {
    if (!is_asked_for(suite, names)) continue;
    std::vector<Check> more = suite.checks ? suite.checks(options) : study_checks(suite.name, options);
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

}  // namespace kvcap
