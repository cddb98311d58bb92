#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "base/input_error.h"
#include "metrics/statistics/intervals.h"
#include "metrics/statistics/quantiles.h"
#include "validate/studies/expression.h"
#include "validate/studies/figures.h"
#include "validate/studies/study.h"
#include "validate/studies/study_rows.h"

namespace kvcap {
namespace {

double named_figure(Lab& lab, const Study& study, StudySetting setting, std::string name);

// Returns the parameters of the setting's named workload as JSON, with each "{EXPRESSION}" replaced by its
// value. The expressions use figures of the setting without that workload; returns nothing until these have
// been simulated.
std::optional<std::string> filled_workload(Lab& lab, const Study& study, StudySetting setting) {
  const Json written = Json::parse(std::exchange(setting.workload, ""));
  bool is_known = true;
  const Json filled = filled_in(written, [&](const std::string& text) {
    const double value =
        evaluate(text, [&](const std::string& name) { return named_figure(lab, study, setting, name); });
    is_known &= std::isfinite(value);
    return Json(is_known ? value : 0).dump();
  });
  return is_known ? std::optional(filled.dump()) : std::nullopt;
}

// Returns the figure `name`. A prefix names a setting whose changes apply: "off.mean_ttft_ms" is mean_ttft_ms
// of this setting with the changes of "off". Several prefixes may be combined.
double named_figure(Lab& lab, const Study& study, StudySetting setting, std::string name) {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.')) {
    const auto named = study.settings.find(name.substr(0, dot));
    if (named == study.settings.end()) break;
    setting = setting.with(named->second);
    name.erase(0, dot + 1);
  }
  const bool has_expressions = setting.workload.find('{', 1) != std::string::npos;
  if (has_expressions && !name.starts_with("row.")) {
    const std::optional<std::string> filled = filled_workload(lab, study, setting);
    if (!filled) return std::nan("");
    setting.workload = *filled;
  }
  return figure(lab, setting, name);
}

// The checks judged so far, for checks.GROUP.*.
struct Done {
  std::vector<Check> checks = {};
  std::vector<std::string> groups = {};

  // Returns a summary of the checks of a group. `all` and `compared` count the checks; `outside_share` is the
  // share of checks that are outside among the compared tests without tuned parameters.
  double figure(const std::string& group, const std::string& name) const {
    double all = 0, compared = 0, tests = 0, outside = 0;
    for (std::size_t i = 0; i < checks.size(); ++i) {
      if (groups[i] != group) continue;
      const Check& check = checks[i];
      const bool is_compared = check.verdict != Agreement::not_comparable;
      const bool is_test = is_compared && check.role == Role::test && check.tuned.empty();
      ++all;
      compared += is_compared;
      tests += is_test;
      outside += is_test && check.verdict == Agreement::outside;
    }
    if (name == "all") return all;
    if (name == "compared") return compared;
    if (name == "outside_share") return outside / tests;
    throw InputError("found the name \"checks." + group + "." + name +
                     "\", allowed: all, compared, outside_share");
  }
};

double figure_or_sum(Lab& lab, const Study& study, const Done& done, const StudySetting& setting,
                     const std::string& name) {
  constexpr std::string_view kChecks = "checks.";
  if (!name.starts_with(kChecks)) return named_figure(lab, study, setting, name);
  const std::size_t dot = name.find('.', kChecks.size());
  return done.figure(name.substr(kChecks.size(), dot - kChecks.size()),
                     dot == std::string::npos ? "" : name.substr(dot + 1));
}

// Returns the value of each expression in every setting.
std::vector<double> values_of(Lab& lab, const Study& study, const Done& done, const StudyCheck& one,
                              const std::vector<std::string>& expressions) {
  std::vector<double> values;
  for (const StudySetting& each : one.each) {
    const StudySetting setting = one.setting.with(each);
    for (const std::string& expression : expressions) {
      values.push_back(evaluate(expression, [&](const std::string& name) {
        return figure_or_sum(lab, study, done, setting, name);
      }));
    }
  }
  return values;
}

// Returns the mean of each expression over the settings.
std::vector<double> means(const std::vector<double>& values, std::size_t expressions) {
  std::vector<double> sums(expressions, 0);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i % expressions] += values[i];
  for (double& sum : sums) sum /= static_cast<double>(values.size() / expressions);
  return sums;
}

std::vector<Check::Case> cases_of(const Check& check) {
  std::vector<Check::Case> cases;
  for (std::size_t i = 0; i < check.simulated.size(); ++i) {
    cases.push_back({check.simulated[i], check.reference[i]});
  }
  return cases;
}

double error_of(const Check::Case& each, bool is_share) {
  if (is_share) return std::abs(each.simulated - each.reference);
  if (each.reference == 0) return each.simulated == 0 ? 0 : 1;
  return std::abs(each.simulated / each.reference - 1);
}

// Replaces the simulated numbers by the summary of their errors.
void summarise_errors(Check& check, const StudyCheck& one) {
  check.cases = cases_of(check);
  std::vector<double> errors;
  for (const Check::Case& each : check.cases) errors.push_back(error_of(each, check.absolute));
  // If any number has no error (NaN), the summary is NaN, too.
  if (std::any_of(errors.begin(), errors.end(), [](double error) { return std::isnan(error); })) {
    check.simulated = {std::nan("")};
  } else {
    check.simulated = {quantile_of(errors, one.summary == Summary::worst_error ? 1 : 0.5)};
  }
  check.reference.clear();
  if (one.judged) check.reference = {one.most};
}

// Reduces the numbers of all settings to their mean with its interval, or to the number farthest from its
// reference.
void summarise_settings(Check& check, Summary summary, double confidence) {
  if (summary == Summary::interval) {
    const MeanInterval interval = mean_interval(check.simulated, confidence);
    check.simulated = {interval.mean};
    check.half_width = {interval.half_width};
    check.reference.resize(1);
    return;
  }
  std::size_t farthest = 0;
  const auto off = [&check](std::size_t i) { return std::abs(check.simulated[i] - check.reference[i]); };
  for (std::size_t i = 1; i < check.simulated.size(); ++i) {
    if (off(i) > off(farthest)) farthest = i;
  }
  check.simulated = {check.simulated[farthest]};
  check.reference = {check.reference[farthest]};
}

constexpr double kConfidence = 0.99;  // of all intervals of a study together

double confidence_of_each(const Study& study) {
  const auto is_interval = [](const StudyCheck& one) { return one.summary == Summary::interval; };
  const auto count = std::count_if(study.checks.begin(), study.checks.end(), is_interval);
  return 1 - (1 - kConfidence) / static_cast<double>(count);
}

// Evaluates a condition over the simulated numbers x1, x2, ... and figures.
bool holds(Lab& lab, const Study& study, const StudyCheck& one, const std::vector<double>& simulated) {
  return evaluate(one.holds, [&](const std::string& name) {
           const std::size_t place = name.starts_with('x') ? std::strtoul(name.c_str() + 1, nullptr, 10) : 0;
           if (place >= 1 && place <= simulated.size()) return simulated[place - 1];
           return named_figure(lab, study, one.setting, name);
         }) != 0;
}

// Returns the item for the k-th of `numbers` numbers; each item applies to equally many successive numbers.
const std::string& spread(const std::vector<std::string>& items, std::size_t k, std::size_t numbers) {
  return items[k * items.size() / numbers];
}

// Places the numbers of the check in the published figures that its curve names.
void place_points(Check& check, const StudyCheck& one, const std::vector<double>& x_values) {
  const StudyCurve& curve = one.curve;
  const bool has_cases = one.summary >= Summary::median_error;
  const std::size_t numbers = has_cases ? check.cases.size() : check.simulated.size();
  for (std::size_t k = 0; k < numbers; ++k) {
    Check::Point point{.figure = spread(curve.figures, k, numbers),
                       .y_axis = spread(curve.y_axes, k, numbers),
                       .series = spread(curve.series, k, numbers),
                       .x = {},
                       .simulated = has_cases ? check.cases[k].simulated : check.simulated[k],
                       .published = {}};
    if (point.series.empty()) continue;
    if (curve.x.empty()) {
      point.x = x_values[k * x_values.size() / numbers];
    } else {
      point.x = curve.x[k % curve.x.size()];
    }
    if (has_cases) {
      point.published = {check.cases[k].reference};
    } else if (check.claim == Claim::range) {
      point.published = check.reference;
    } else if (check.claim == Claim::exact) {
      point.published = {check.reference[k]};
    }
    check.points.push_back(std::move(point));
  }
}

Check judged(Lab& lab, const Study& study, const Done& done, const StudyCheck& one) {
  Check check = one.check;
  if (one.values.empty()) return check;
  check.simulated = values_of(lab, study, done, one, one.values);
  if (one.summary == Summary::mean) check.simulated = means(check.simulated, one.values.size());
  if (!one.references.empty()) check.reference = values_of(lab, study, done, one, one.references);
  if (check.claim == Claim::order) {
    check.holds = holds(lab, study, one, check.simulated);
  } else if (check.claim == Claim::at_most && one.summary < Summary::median_error) {
    if (check.simulated.size() != 1) {
      throw InputError("at_most: found " + std::to_string(check.simulated.size()) +
                       " numbers, allowed: one, or a summary of them");
    }
    check.reference = {one.most};
  } else if (one.summary == Summary::interval && check.reference.size() == 1) {
    check.reference.resize(check.simulated.size(), check.reference.front());
  } else if (check.claim != Claim::range && check.reference.size() != check.simulated.size()) {
    throw InputError("reference: found " + std::to_string(check.reference.size()) + " numbers, allowed: " +
                     std::to_string(check.simulated.size()) + ", one for each simulated one");
  }
  const bool is_of_settings = one.summary == Summary::interval || one.summary == Summary::farthest;
  const bool is_one_kind = check.claim == Claim::exact && one.values.size() == 1 && one.each.size() > 1;
  if (one.summary >= Summary::median_error) {
    summarise_errors(check, one);
  } else if (is_of_settings) {
    summarise_settings(check, one.summary, confidence_of_each(study));
  } else if (is_one_kind) {
    check.cases = cases_of(check);
  }
  if (!one.curve.figures.empty()) {
    const std::vector<double> x_values = one.curve.x_value.empty()
                                             ? std::vector<double>{}
                                             : values_of(lab, study, done, one, {one.curve.x_value});
    place_points(check, one, x_values);
  }
  if (one.judged) judge(check);
  return check;
}

// True iff the check is computed from other checks (checks.GROUP.*).
bool is_sum(const StudyCheck& one) {
  return std::any_of(one.values.begin(), one.values.end(),
                     [](const std::string& value) { return value.find("checks.") != std::string::npos; });
}

// Judges all checks, those that summarise other checks last. The order of the results does not change.
void judge_all(Lab& lab, std::span<const Study> studies, Done& done) {
  for (const bool sums : {false, true}) {
    std::size_t place = 0;
    for (const Study& study : studies) {
      for (const StudyCheck& one : study.checks) {
        if (!sums) {
          done.checks.push_back(one.check);
          done.groups.push_back(one.group);
        }
        try {
          if (is_sum(one) == sums) done.checks[place] = judged(lab, study, done, one);
        } catch (const InputError& error) {
          throw InputError(one.place + ": " + error.what());
        }
        ++place;
      }
    }
  }
}

}  // namespace

std::vector<double> MeasuredRun::simulated(const RunResult& result) const {
  std::vector<double> values;
  for (const Asked& one : asked) {
    values.push_back(evaluate(one.expression, [&](const std::string& name) {
      return figure({scenario, workload, result}, one.setting, name);
    }));
  }
  return values;
}

std::vector<MeasuredRun> measured_runs(std::span<const Study> studies) {
  std::vector<MeasuredRun> runs;
  std::map<std::string, std::size_t> places;  // index of a run, by family and simulation
  for (const Study& study : studies) {
    Lab lab(study.is_shipped);
    for (const StudyCheck& one : study.checks) {
      if (one.family.empty() || one.each.empty()) continue;
      const std::vector<double> references =
          one.references.empty() ? one.check.reference : values_of(lab, study, {}, one, one.references);
      auto reference = references.begin();
      for (const StudySetting& each : one.each) {
        const StudySetting setting = one.setting.with(each);
        const auto [place, is_new] = places.emplace(one.family + "\n" + Lab::key_of(setting), runs.size());
        if (is_new) {
          runs.push_back({.family = one.family,
                          .scenario = lab.scenario(setting),
                          .workload = lab.trace(setting).workload,
                          .measured = {},
                          .asked = {},
                          .gap = one.check.reason});
        }
        MeasuredRun& run = runs[place->second];
        for (const std::string& value : one.values) {
          run.asked.push_back({value, setting});
          run.measured.push_back(*reference++);
        }
      }
    }
  }
  return runs;
}

std::vector<Check> run_studies(std::span<const Study> studies) {
  if (studies.empty()) return {};
  Lab lab(studies.front().is_shipped);
  Done done;
  do {
    done = {};
    judge_all(lab, studies, done);
  } while (lab.run_missing());
  std::vector<Check> checks = std::move(done.checks);
  for (const Study& study : studies) {
    std::vector<Check> more = kernel_checks(study.kernels, study.suite, study.kernel_path);
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

}  // namespace kvcap
