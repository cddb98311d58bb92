#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/input_error.h"
#include "metrics/statistics/quantiles.h"
#include "validate/studies/expression.h"
#include "validate/studies/figures.h"
#include "validate/studies/study.h"

namespace kvcap {
namespace {

// Returns a figure: "off.mean_ttft_ms" is mean_ttft_ms of the setting with the changes of "off". Prefixes may
// be repeated.
double named_figure(Lab& lab, const Study& study, StudySetting setting, std::string name) {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.')) {
    const auto named = study.settings.find(name.substr(0, dot));
    if (named == study.settings.end()) break;
    setting = setting.with(named->second);
    name.erase(0, dot + 1);
  }
  return figure(lab, setting, name);
}

// The checks done so far, for checks.GROUP.*.
struct Done {
  std::vector<Check> checks = {};
  std::vector<std::string> groups = {};

  // compared, all: numbers of checks. outside_share: the share of checks outside, among compared tests
  // without tuned parameters.
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
  // What has no error has no summary either.
  if (std::any_of(errors.begin(), errors.end(), [](double error) { return std::isnan(error); })) {
    check.simulated = {std::nan("")};
  } else {
    std::sort(errors.begin(), errors.end());
    check.simulated = {one.summary == Summary::worst_error ? errors.back() : quantile_of_sorted(errors, 0.5)};
  }
  check.reference.clear();
  if (one.judged) check.reference = {one.most};
}

// Evaluates a condition over the simulated numbers x1, x2, ... and figures.
bool holds(Lab& lab, const Study& study, const StudyCheck& one, const std::vector<double>& simulated) {
  return evaluate(one.holds, [&](const std::string& name) {
           const std::size_t place = name.starts_with('x') ? std::strtoul(name.c_str() + 1, nullptr, 10) : 0;
           if (place >= 1 && place <= simulated.size()) return simulated[place - 1];
           return named_figure(lab, study, one.setting, name);
         }) != 0;
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
  } else if (check.claim != Claim::range && check.reference.size() != check.simulated.size()) {
    throw InputError("reference: found " + std::to_string(check.reference.size()) + " numbers, allowed: " +
                     std::to_string(check.simulated.size()) + ", one for each simulated one");
  }
  const bool is_one_kind = check.claim == Claim::exact && one.values.size() == 1 && one.each.size() > 1;
  if (one.summary >= Summary::median_error) {
    summarise_errors(check, one);
  } else if (is_one_kind) {
    check.cases = cases_of(check);
  }
  if (one.judged) judge(check);
  return check;
}

// True iff the check summarises other checks.
bool is_sum(const StudyCheck& one) {
  return std::any_of(one.values.begin(), one.values.end(),
                     [](const std::string& value) { return value.find("checks.") != std::string::npos; });
}

// Judges all checks, those that summarise others last; their order does not change.
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

namespace {

// What one run is asked for.
struct AskedOfRun {
  std::string expression;
  StudySetting setting;

  double of(const RunResult& result) const {
    return evaluate(expression, [&](const std::string& name) { return figure(result, setting, name); });
  }
};

// Collects the runs of checks: one run for all checks of the same simulation.
class Runs {
 public:
  void add(Lab& lab, const StudyCheck& one, const StudySetting& setting, std::span<const double> references) {
    const auto [place, is_new] = places_.emplace(one.family + "\n" + Lab::key_of(setting), runs_.size());
    if (is_new) {
      asked_.emplace_back();
      runs_.push_back({.family = one.family,
                       .scenario = lab.scenario(setting),
                       .workload = lab.trace(setting).workload,
                       .measured = {},
                       .simulated = {},
                       .gap = one.check.reason});
    }
    std::vector<double>& measured = runs_[place->second].measured;
    measured.insert(measured.end(), references.begin(), references.end());
    for (const std::string& value : one.values) asked_[place->second].push_back({value, setting});
  }

  std::vector<MeasuredRun> take() {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      runs_[i].simulated = [asked = std::move(asked_[i])](const RunResult& result) {
        std::vector<double> values;
        for (const AskedOfRun& one : asked) values.push_back(one.of(result));
        return values;
      };
    }
    return std::move(runs_);
  }

 private:
  std::vector<MeasuredRun> runs_;
  std::vector<std::vector<AskedOfRun>> asked_;
  std::map<std::string, std::size_t> places_;  // by family and simulation
};

}  // namespace

std::vector<MeasuredRun> measured_runs(std::span<const Study> studies) {
  Runs runs;
  for (const Study& study : studies) {
    Lab lab(study.is_shipped);
    for (const StudyCheck& one : study.checks) {
      if (one.family.empty() || one.each.empty()) continue;
      const std::vector<double> references =
          one.references.empty() ? one.check.reference : values_of(lab, study, {}, one, one.references);
      const std::size_t of_each = one.values.size();
      for (std::size_t i = 0; i < one.each.size(); ++i) {
        runs.add(lab, one, one.setting.with(one.each[i]),
                 std::span(references).subspan(i * of_each, of_each));
      }
    }
  }
  return runs.take();
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
