#include "validate/suites.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/input_error.h"
#include "validate/papers.h"
#include "validate/twin.h"

namespace kvcap {
namespace {

struct Suite {
  std::string_view name;
  std::vector<Check> (*checks)();
};

std::vector<Check> paper_checks() { return checks_of(papers()); }

constexpr std::array kSuites = {Suite{"papers", paper_checks}, Suite{"twin", twin_checks}};

}  // namespace

std::string suite_names() {
  std::string names;
  for (const Suite& suite : kSuites) names += (names.empty() ? "" : ", ") + std::string(suite.name);
  return names;
}

std::vector<Check> run_suites(const std::vector<std::string>& names) {
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
    std::vector<Check> more = suite.checks();
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

}  // namespace kvcap
