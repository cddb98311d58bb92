#include "commands/require.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>

#include "base/input_error.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/units.h"
#include "commands/commands.h"
#include "documents/results.h"
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
    std::string number = text.substr(begin);
    if (requirement.relation == "==" && (number == "true" || number == "false")) {
      requirement.bound = number == "true" ? 1 : 0;
      return requirement;
    }
    requirement.is_difference = !number.empty() && (number.front() == '+' || number.front() == '-');
    requirement.is_share = requirement.is_difference && number.ends_with('%');
    if (requirement.is_difference && number.front() == '+') number.erase(0, 1);
    if (requirement.is_share) number.pop_back();
    const std::optional<double> bound =
        number_with_unit(number, requirement.is_share ? UnitOf::count : unit_of(requirement.metric));
    if (requirement.relation != "=" && bound) {
      requirement.bound = requirement.is_share ? *bound / 100 : *bound;
      return requirement;
    }
  }
  throw InputError(std::string(option) + ": found \"" + text +
                   "\", allowed: METRIC RELATION NUMBER with <=, <, >=, > or ==, e.g. p99_ttft_ms<=500");
}

bool holds(const std::string& relation, double value, double bound) {
  if (relation == "<=") return value <= bound;
  if (relation == ">=") return value >= bound;
  if (relation == "<") return value < bound;
  if (relation == ">") return value > bound;
  return value == bound;
}

// True iff the whole interval meets the bound. Without an interval (NaN) the value decides.
bool holds(const Requirement& requirement, double value, double half_width, double bound) {
  if (requirement.relation == "==" || std::isnan(half_width))
    return holds(requirement.relation, value, bound);
  return holds(requirement.relation, value - half_width, bound) &&
         holds(requirement.relation, value + half_width, bound);
}

double half_width_of(const RunResult& result, const std::string& metric) {
  for (const Interval& one : result.intervals) {
    if (one.name == metric) return one.half_width;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string found_text(double value, double half_width) {
  char found[80];
  std::snprintf(found, sizeof found, "%.6g", value);
  std::string text = found;
  if (std::isnan(half_width)) return text;
  std::snprintf(found, sizeof found, " +-%.3g", half_width);
  return text + found;
}

// Returns whether the interval shows that the condition does not hold, and what to do if it does not.
std::string undecided_text(const Requirement& requirement, double value, double half_width, double bound) {
  if (std::isnan(half_width) || half_width == 0 || requirement.relation == "==") return "";
  const bool is_undecided = holds(requirement.relation, value - half_width, bound) ||
                            holds(requirement.relation, value + half_width, bound);
  return is_undecided ? "; undecided: the interval contains the bound, and more replications narrow it"
                      : "; the whole interval is beyond the bound";
}

// Throws CheckFailed for the condition on a value. `setting`: " of NAME", or empty.
void check_value(const Requirement& requirement, double value, double half_width,
                 const std::string& setting) {
  // A metric without a value (NaN) meets no bound.
  if (holds(requirement, value, half_width, requirement.bound)) return;
  throw CheckFailed("required " + requirement.text + setting + ", found " + found_text(value, half_width) +
                    undecided_text(requirement, value, half_width, requirement.bound));
}

// A run that is too short to tell counts as saturated if it was offered more than the machine can serve.
void refuse_saturated(const Requirement& requirement, const RunResult& result, const std::string& setting) {
  if (!requirement.metric.ends_with("_ms")) return;
  const double stable = result.number("stable"), load = result.number("offered_load");
  if (stable == 0) {
    throw CheckFailed("required " + requirement.text + setting +
                      ", found a saturated machine, where latencies grow with the length of the run");
  }
  if (!std::isnan(stable) || !(load > 1)) return;
  throw CheckFailed("required " + requirement.text + setting + ", found " + format_percent(load) +
                    " of what the machine can serve in a run that is too short to tell; lengthen it: --set "
                    "workload.run_length=steady");
}

void check_value(const Requirement& requirement, const RunResult& result, const std::string& setting) {
  refuse_saturated(requirement, result, setting);
  check_value(requirement, result.number(requirement.metric), half_width_of(result, requirement.metric),
              setting);
}

void check_difference(const Requirement& requirement, double base, const Difference& found) {
  const double bound = requirement.is_share ? requirement.bound * base : requirement.bound;
  // Without an interval nothing is shown.
  const bool is_shown = !std::isnan(found.half_width) || found.difference == 0;
  if (is_shown && holds(requirement, found.difference, found.half_width, bound)) return;
  const double scale = requirement.is_share ? 100 / base : 1;
  throw CheckFailed("required " + requirement.text + " of " + found.setting + " against " + found.against +
                    ", found " + found_text(scale * found.difference, scale * found.half_width) +
                    (requirement.is_share ? " %" : "") +
                    (is_shown ? undecided_text(requirement, found.difference, found.half_width, bound)
                              : "; one run gives no interval: --set replications=5"));
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

std::vector<Requirement> parse_requirements(const std::vector<std::string>& texts, bool has_differences) {
  std::vector<Requirement> requirements = parse_conditions("--require", texts);
  const std::vector<std::string>& compared = compared_metrics();
  for (const Requirement& one : requirements) {
    if (!one.is_difference) continue;
    const bool is_known = std::find(compared.begin(), compared.end(), one.metric) != compared.end();
    if (has_differences && is_known) continue;
    if (has_differences) {
      throw InputError("--require: found \"" + one.text + "\", allowed: differences of " + joined(compared));
    }
    throw InputError("--require: found \"" + one.text +
                     "\", allowed: a value without a sign; kvcap compare bounds differences");
  }
  return requirements;
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
    if (one.relation == "<" || one.relation == ">" || one.is_difference) {
      throw InputError("--meet: found \"" + one.text +
                       "\", allowed: <=, >= or ==, and a value without a sign");
    }
    Target& target = targets.emplace_back(Target{.metric = one.metric});
    if (one.relation != ">=") target.max = one.bound;
    if (one.relation != "<=") target.min = one.bound;
  }
  return targets;
}

void check_requirements(const std::vector<Requirement>& requirements, const RunResult& result) {
  for (const Requirement& requirement : requirements) check_value(requirement, result, "");
  if (!requirements.empty()) refuse_unserved(requirements, result);
}

void check_requirements(const std::vector<Requirement>& requirements, const Candidate& answer) {
  for (const Requirement& requirement : requirements) {
    const MeanInterval found = answer.metric(requirement.metric);
    check_value(requirement, found.mean, found.half_width, " of the plan");
  }
}

void check_requirements(const std::vector<Requirement>& requirements, const std::vector<RunResult>& results,
                        const std::vector<Difference>& differences) {
  for (const Requirement& requirement : requirements) {
    if (!requirement.is_difference) {
      for (const RunResult& result : results) {
        if (!result.is_bound) check_value(requirement, result, " of " + result.setting);
      }
      continue;
    }
    for (std::size_t i = 1; i < results.size(); ++i) {
      if (!results[i].is_bound) refuse_saturated(requirement, results[i], " of " + results[i].setting);
    }
    for (const Difference& one : differences) {
      if (one.metric == requirement.metric)
        check_difference(requirement, results.front().number(requirement.metric), one);
    }
  }
  if (requirements.empty()) return;
  for (const RunResult& result : results) {
    if (!result.is_bound) refuse_unserved(requirements, result);
  }
}

std::vector<Requirement> parse_difference_requirements(const std::vector<std::string>& texts) {
  constexpr bool kHasDifferences = true;
  std::vector<Requirement> requirements = parse_requirements(texts, kHasDifferences);
  for (const Requirement& one : requirements) {
    if (one.is_difference) continue;
    throw InputError("--require: found \"" + one.text +
                     "\", allowed: a difference against --before, e.g. p99_ttft_ms<=+2%");
  }
  return requirements;
}

void check_requirements(const std::vector<Requirement>& requirements,
                        const std::vector<ReportDocument>& documents) {
  for (const Requirement& requirement : requirements) {
    const Quantity* metric = find_quantity(requirement.metric);
    std::vector<Change> changes;
    add_result_changes(documents, {metric}, changes);
    if (changes.empty())
      throw CheckFailed("required " + requirement.text + ", found no result of both sides with this metric");
    constexpr bool kIsBefore = false;
    for (const ResultGroup& group : result_groups(documents, kIsBefore)) {
      for (std::size_t i = 0; i < group.results.size(); ++i) {
        refuse_saturated(requirement, group.results[i], " of " + group.labels[i]);
        refuse_unserved(requirements, group.results[i]);
      }
    }
    const double scale = metric->unit.scale;
    for (const Change& one : changes) {
      check_difference(
          requirement, one.before / scale,
          {one.place(), "before", requirement.metric, one.difference() / scale, one.half_width / scale});
    }
  }
}

}  // namespace kvcap
