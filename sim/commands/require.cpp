#include "commands/require.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>

#include "base/input_error.h"
#include "base/text/format.h"
#include "base/text/units.h"
#include "commands/commands.h"
#include "metrics/quantity.h"
#include "metrics/unserved.h"

namespace kvcap {
namespace {

Requirement parse(const char* option, const std::string& text) {
  const std::size_t at = text.find_first_of("<>=");
  if (at != std::string::npos && at > 0) {
    const std::size_t length = at + 1 < text.size() && text[at + 1] == '=' ? 2 : 1;
    Requirement requirement{.text = text, .metric = text.substr(0, at), .relation = text.substr(at, length)};
    while (!requirement.metric.empty() && requirement.metric.back() == ' ') requirement.metric.pop_back();
    const std::size_t begin = std::min(text.find_first_not_of(' ', at + length), text.size());
    const std::string number = text.substr(begin);
    if (requirement.relation == "==" && (number == "true" || number == "false")) {
      requirement.bound = number == "true" ? 1 : 0;
      return requirement;
    }
    const std::optional<double> bound = number_with_unit(number, unit_of(requirement.metric));
    if (requirement.relation != "=" && bound) {
      requirement.bound = *bound;
      return requirement;
    }
  }
  throw InputError(std::string(option) + ": found \"" + text +
                   "\", allowed: METRIC RELATION NUMBER with <=, <, >=, > or ==, e.g. p99_ttft_ms<=500");
}

bool holds(const Requirement& requirement, double value) {
  if (requirement.relation == "<=") return value <= requirement.bound;
  if (requirement.relation == ">=") return value >= requirement.bound;
  if (requirement.relation == "<") return value < requirement.bound;
  if (requirement.relation == ">") return value > requirement.bound;
  return value == requirement.bound;
}

void refuse_unserved(const std::vector<Requirement>& requirements, const RunResult& result) {
  const std::string metric(unserved(result, [&](std::string_view wanted) {
    return std::any_of(requirements.begin(), requirements.end(),
                       [wanted](const Requirement& requirement) { return requirement.metric == wanted; });
  }));
  if (metric.empty()) return;
  throw CheckFailed(format_count(std::llround(std::ceil(result.number(metric))), "turn") + " " + metric +
                    "; to allow it: --require '" + metric + "_share<=0.01'");
}

}  // namespace

std::vector<Requirement> parse_requirements(const std::vector<std::string>& texts) {
  return parse_conditions("--require", texts);
}

std::vector<Requirement> parse_conditions(const char* option, const std::vector<std::string>& texts) {
  std::vector<Requirement> requirements;
  if (texts.empty()) return requirements;
  const std::vector<std::string> metrics = metric_names();
  const std::vector<std::string_view> names(metrics.begin(), metrics.end());
  for (const std::string& text : texts) {
    requirements.push_back(parse(option, text));
    const std::string& metric = requirements.back().metric;
    if (std::find(names.begin(), names.end(), metric) == names.end()) {
      throw InputError(std::string(option) + ": found the metric \"" + metric +
                       "\", allowed: a number of the result" + suggestion(metric, names));
    }
  }
  return requirements;
}

std::vector<Target> parse_targets(const std::vector<std::string>& texts) {
  std::vector<Target> targets;
  for (const Requirement& one : parse_conditions("--meet", texts)) {
    if (one.relation == "<" || one.relation == ">") {
      throw InputError("--meet: found \"" + one.text + "\", allowed: <=, >= or ==");
    }
    Target& target = targets.emplace_back(Target{.metric = one.metric});
    if (one.relation != ">=") target.max = one.bound;
    if (one.relation != "<=") target.min = one.bound;
  }
  return targets;
}

void check_requirements(const std::vector<Requirement>& requirements, const RunResult& result) {
  for (const Requirement& requirement : requirements) {
    const double value = result.number(requirement.metric);
    // A metric without a value (NaN) meets no bound.
    if (holds(requirement, value)) continue;
    char found[40];
    std::snprintf(found, sizeof found, "%.6g", value);
    throw CheckFailed("required " + requirement.text + ", found " + found);
  }
  if (!requirements.empty()) refuse_unserved(requirements, result);
}

}  // namespace kvcap
