#include "commands/require.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
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

// Returns a value in the unit of its condition, which is the JSON's; with six digits, so that one beside its
// bound shows on which side it is.
std::string found_text(double value, double half_width, std::string_view unit) {
  char found[80];
  std::snprintf(found, sizeof found, "%.6g", value);
  std::string text = found;
  if (!std::isnan(half_width)) {
    std::snprintf(found, sizeof found, " +-%.3g", half_width);
    text += found;
  }
  return unit.empty() ? text : text + " " + std::string(unit);
}

// Returns the metric's unit; "" if people read the JSON's number in another one.
std::string_view unit_of_metric(const std::string& metric) {
  const Quantity* row = find_quantity(metric);
  return row && row->unit.scale == 1 ? row->unit.symbol : "";
}

// Returns a remark on a condition that does not hold: whether the whole interval is beyond the bound, or more
// replications could still decide it.
std::string undecided_text(const Requirement& requirement, double value, double half_width, double bound) {
  if (std::isnan(half_width) || half_width == 0 || requirement.relation == "==") return "";
  const bool is_undecided = holds(requirement.relation, value - half_width, bound) ||
                            holds(requirement.relation, value + half_width, bound);
  return is_undecided ? "; undecided: the interval contains the bound, and more replications narrow it"
                      : "; the whole interval is beyond the bound";
}

// Returns " of NAME"; "" without a name.
std::string of(const std::string& setting) { return setting.empty() ? "" : " of " + setting; }

CheckedRequirement check_value(const Requirement& requirement, double value, double half_width,
                               const std::string& setting) {
  CheckedRequirement checked{.text = requirement.text,
                             .metric = requirement.metric,
                             .setting = setting,
                             .found = value,
                             .half_width = half_width};
  // A metric without a value (NaN) meets no bound.
  if (holds(requirement, value, half_width, requirement.bound)) return checked;
  checked.failure = "required " + requirement.text + of(setting) + ", found " +
                    found_text(value, half_width, unit_of_metric(requirement.metric)) +
                    undecided_text(requirement, value, half_width, requirement.bound);
  return checked;
}

// Adds a failure and returns true if the requirement is on a latency, and the machine is saturated or is
// offered more than it can serve in a run too short to show saturation. Otherwise returns false.
bool refuse_saturated(const Requirement& requirement, const RunResult& result, const std::string& setting,
                      CheckedRequirements& checked) {
  const double stable = result.number("stable"), load = result.number("offered_load");
  const bool is_too_much = std::isnan(stable) && load > 1;
  if (!requirement.metric.ends_with("_ms") || (stable != 0 && !is_too_much)) return false;
  const std::string found =
      is_too_much ? format_percent(load) +
                        " of what the machine can serve in a run that is too short to tell; lengthen it: "
                        "--set workload.run_length=steady"
                  : "a saturated machine, where latencies grow with the length of the run";
  checked.push_back({.text = requirement.text,
                     .setting = setting,
                     .found = result.number(requirement.metric),
                     .half_width = half_width_of(result, requirement.metric),
                     .failure = "required " + requirement.text + of(setting) + ", found " + found});
  return true;
}

void check_value(const Requirement& requirement, const RunResult& result, const std::string& setting,
                 CheckedRequirements& checked) {
  if (refuse_saturated(requirement, result, setting, checked)) return;
  checked.push_back(check_value(requirement, result.number(requirement.metric),
                                half_width_of(result, requirement.metric), setting));
}

// Returns "from NAME (the first setting) to NAME". `first`: " (the first setting)", or "".
std::string change_text(const std::string& against, const char* first, const std::string& setting) {
  return "from " + against + first + " to " + setting;
}

// Returns "+1.2 +-0.4 %" of a share of the first setting's value, else "+1.2 +-0.4 ms".
std::string difference_text(const CheckedRequirement& checked) {
  return (checked.found > 0 ? "+" : "") + found_text(checked.found, checked.half_width,
                                                     checked.is_share ? "%" : unit_of_metric(checked.metric));
}

CheckedRequirement check_difference(const Requirement& requirement, double base, const Difference& found,
                                    const char* first) {
  const double bound = requirement.is_share ? requirement.bound * base : requirement.bound;
  const double scale = requirement.is_share ? 100 / base : 1;
  CheckedRequirement checked{.text = requirement.text,
                             .metric = requirement.metric,
                             .setting = found.setting,
                             .against = found.against,
                             .found = scale * found.difference,
                             .half_width = scale * found.half_width,
                             .is_share = requirement.is_share};
  // Without an interval, a nonzero difference may be chance and meets no bound.
  const bool is_shown = !std::isnan(found.half_width) || found.difference == 0;
  if (is_shown && holds(requirement, found.difference, found.half_width, bound)) return checked;
  checked.failure = "required " + requirement.text + ", found " + difference_text(checked) + " " +
                    change_text(found.against, first, found.setting) +
                    (is_shown ? undecided_text(requirement, found.difference, found.half_width, bound)
                              : "; one run gives no interval: --set replications=5");
  return checked;
}

void refuse_unserved(const std::vector<Requirement>& requirements, const RunResult& result,
                     CheckedRequirements& checked) {
  const std::string metric(unserved(result, [&](std::string_view wanted) {
    return std::any_of(requirements.begin(), requirements.end(),
                       [wanted](const Requirement& requirement) { return requirement.metric == wanted; });
  }));
  if (metric.empty()) return;
  checked.push_back({.text = "",
                     .setting = result.setting,
                     .found = result.number(metric),
                     .half_width = half_width_of(result, metric),
                     .failure = format_count(std::llround(std::ceil(result.number(metric))), "turn") + " " +
                                metric + "; to allow it: --require '" + metric + "_share<=0.01'"});
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

CheckedRequirements check_requirements(const std::vector<Requirement>& requirements,
                                       const RunResult& result) {
  CheckedRequirements checked;
  for (const Requirement& requirement : requirements) check_value(requirement, result, "", checked);
  if (!requirements.empty()) refuse_unserved(requirements, result, checked);
  return checked;
}

CheckedRequirements check_requirements(const std::vector<Requirement>& requirements,
                                       const Candidate& answer) {
  CheckedRequirements checked;
  for (const Requirement& requirement : requirements) {
    const MeanInterval found = answer.metric(requirement.metric);
    checked.push_back(check_value(requirement, found.mean, found.half_width, "the plan"));
  }
  return checked;
}

// Checks a condition on the difference of every setting from the first one.
static void check_differences(const Requirement& requirement, const std::vector<RunResult>& results,
                              const std::vector<Difference>& differences, CheckedRequirements& checked) {
  const auto is_refused = [&](const RunResult& result) {
    return !result.is_bound && refuse_saturated(requirement, result, result.setting, checked);
  };
  if (std::count_if(results.begin() + 1, results.end(), is_refused) > 0) return;
  for (const Difference& one : differences) {
    if (one.metric != requirement.metric) continue;
    checked.push_back(check_difference(requirement, results.front().number(requirement.metric), one,
                                       " (the first setting)"));
  }
}

CheckedRequirements check_requirements(const std::vector<Requirement>& requirements,
                                       const std::vector<RunResult>& results,
                                       const std::vector<Difference>& differences) {
  CheckedRequirements checked;
  for (const Requirement& requirement : requirements) {
    if (requirement.is_difference) {
      check_differences(requirement, results, differences, checked);
      continue;
    }
    for (const RunResult& result : results) {
      if (!result.is_bound) check_value(requirement, result, result.setting, checked);
    }
  }
  if (requirements.empty()) return checked;
  for (const RunResult& result : results) {
    if (!result.is_bound) refuse_unserved(requirements, result, checked);
  }
  return checked;
}

std::string holds_text(const CheckedRequirements& checked) {
  std::string text;
  for (const CheckedRequirement& one : checked) {
    if (!one.failure.empty()) continue;
    text += (text.empty() ? "\n" : "") + one.text + " holds: ";
    if (one.against.empty()) {
      text += found_text(one.found, one.half_width, unit_of_metric(one.metric)) + of(one.setting);
    } else {
      text += difference_text(one) + " " + change_text(one.against, "", one.setting);
    }
    text += "\n";
  }
  return text;
}

std::string with_requirements(const std::string& json, const CheckedRequirements& checked) {
  if (checked.empty()) return json;
  using Value = nlohmann::ordered_json;
  const auto or_null = [](const std::string& text) { return text.empty() ? Value() : Value(text); };
  Value object = Value::parse(json);
  for (const CheckedRequirement& one : checked) {
    object["requirements"].push_back({{"condition", or_null(one.text)},
                                      {"holds", one.failure.empty()},
                                      {"setting", or_null(one.setting)},
                                      {"against", or_null(one.against)},
                                      {"found", one.found},
                                      {"half_width", one.half_width},
                                      {"unit", one.is_share ? Value("%") : Value()},
                                      {"failure", or_null(one.failure)}});
  }
  return object.dump(2) + "\n";
}

void require_all(const CheckedRequirements& checked) {
  for (const CheckedRequirement& one : checked) {
    if (!one.failure.empty()) throw CheckFailed(one.failure);
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

CheckedRequirements check_requirements(const std::vector<Requirement>& requirements,
                                       const std::vector<ReportDocument>& documents) {
  CheckedRequirements checked;
  for (const Requirement& requirement : requirements) {
    const Quantity* metric = find_quantity(requirement.metric);
    std::vector<Change> changes;
    add_result_changes(documents, {metric}, changes);
    if (changes.empty()) {
      checked.push_back(
          {.text = requirement.text,
           .setting = "",
           .failure = "required " + requirement.text + ", found no result with this metric on both sides"});
      continue;
    }
    constexpr bool kIsBefore = false;
    for (const ResultGroup& group : result_groups(documents, kIsBefore)) {
      for (std::size_t i = 0; i < group.results.size(); ++i) {
        refuse_saturated(requirement, group.results[i], group.labels[i], checked);
        refuse_unserved(requirements, group.results[i], checked);
      }
    }
    const double scale = metric->unit.scale;
    for (const Change& one : changes) {
      checked.push_back(check_difference(
          requirement, one.before / scale,
          {one.place(), "before", requirement.metric, one.difference() / scale, one.half_width / scale}, ""));
    }
  }
  return checked;
}

}  // namespace kvcap
