#include "validate/suites.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/input_error.h"
#include "validate/fidelity.h"
#include "validate/measured.h"
#include "validate/papers.h"

namespace kvcap {
namespace {

struct Suite {
  std::string_view name;
  std::vector<Check> (*checks)(const SuiteOptions& options);
};

std::vector<Check> paper_checks(const SuiteOptions&) { return checks_of(papers()); }

std::vector<Check> measured_checks(const SuiteOptions& options) {
  std::vector<Check> checks = kernel_checks(options.data);
  const std::vector<Check> run = vllm_run_checks(options.data);
  checks.insert(checks.end(), run.begin(), run.end());
  return checks;
}

std::vector<Check> agreement_checks(const SuiteOptions& options) { return fidelity_checks(options.quick); }

constexpr std::array kSuites = {Suite{"papers", paper_checks}, Suite{"measured", measured_checks},
                                Suite{"fidelity", agreement_checks}};

}  // namespace

std::string suite_names() {
  std::string names;
  for (const Suite& suite : kSuites) names += (names.empty() ? "" : ", ") + std::string(suite.name);
  return names;
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
  std::vector<Check> checks;
  for (const Suite& suite : kSuites) {
    if (!names.empty() && std::find(names.begin(), names.end(), suite.name) == names.end()) continue;
    std::vector<Check> more = suite.checks(options);
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

}  // namespace kvcap
