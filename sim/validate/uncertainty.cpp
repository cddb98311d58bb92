// Checks the stated uncertainty in two ways:
//
// 1. The errors that the profiles state (hwprofiles/*.json, `errors`) must follow from the measured kernels.
// This suite recomputes them. shape_sigma is the standard deviation of ln(measured / simulated) over the rows
// of one GPU to which its profile was not fitted. For sigma and bias of a class of kernels, this logarithm is
// averaged for each pair of a program and a GPU; they are the standard deviation and the mean of these
// averages.
//
// 2. Model intervals must contain the measurements. For whole runs of real servers, 80 % intervals should
// contain 70 to 90 % of the measured means, over all families and in each family with at least 20 means. Runs
// are included even if the model is known to lack an effect. "unused" covers the families whose runs were not
// used to choose errors. Means from one machine and engine share errors, so a family is weaker evidence than
// its number of means suggests.
#include "validate/uncertainty.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "base/text/format.h"
#include "metrics/model_report.h"
#include "metrics/statistics/quantiles.h"
#include "plan/values_in_workers.h"
#include "run/drawn_scenario.h"
#include "run/simulate.h"
#include "scenario/load.h"
#include "validate/studies/study.h"
#include "validate/suites.h"

namespace kvcap {
namespace {

constexpr const char* kUncertaintySuite = "uncertainty";
constexpr int64_t kDraws = 32, kQuickDraws = 8;
constexpr std::size_t kQuickEvery = 4;  // a quick validation draws machines for every fourth run only
// Tolerance for the stated errors, which have three decimals.
constexpr double kRounding = 0.0015;

struct MeanAndSpread {
  double mean = 0, spread = 0;
};
MeanAndSpread spread_of(const std::vector<double>& values) {
  MeanAndSpread result;
  for (const double one : values) result.mean += one / static_cast<double>(values.size());
  for (const double one : values) result.spread += std::pow(one - result.mean, 2);
  result.spread = std::sqrt(result.spread / static_cast<double>(values.size()));
  return result;
}

const RegimeError* stated(const HardwareProfile& hardware, std::string_view regime) {
  for (const Regime& one : kRegimes) {
    const std::optional<RegimeError>& error = hardware.errors.*one.error;
    if (one.name == regime && error) return &*error;
  }
  return nullptr;
}

Check stated_check(const std::string& id, const std::string& what, double computed, double stated) {
  Check check{.id = "errors." + id,
              .suite = kUncertaintySuite,
              .what = what,
              .claim = Claim::range,
              .role = Role::input,
              .simulated = {computed},
              .reference = {stated - kRounding, stated + kRounding},
              .tolerance = kRounding,
              .absolute = true};
  judge(check);
  return check;
}

}  // namespace

std::vector<Check> stated_error_checks(const std::string& data) {
  std::map<std::string, std::map<std::string, std::vector<double>>> of_profile;  // keys: regime, profile
  std::map<std::string, std::map<std::string, std::vector<double>>> of_source;   // keys: regime, source and
                                                                                 // profile
  for (const Study& study : shipped_studies("measured", {.data_folder = data})) {
    for (const KernelError& one : kernel_errors(study.kernels, study.kernel_path)) {
      if (!one.other_program) of_profile[one.regime][one.profile].push_back(one.log_ratio);
      of_source[one.regime][one.source + " " + one.profile].push_back(one.log_ratio);
    }
  }
  std::vector<Check> checks;
  for (const auto& [regime, profiles] : of_profile) {
    for (const auto& [profile, logs] : profiles) {
      const HardwareProfile hardware = load_hardware(profile);
      const RegimeError* error = stated(hardware, regime);
      if (!error) continue;
      checks.push_back(stated_check(regime + "." + profile,
                                    "standard deviation of ln(measured / simulated), " + regime + ", " +
                                        profile + ", " + std::to_string(logs.size()) + " rows not fitted",
                                    spread_of(logs).spread, error->shape_sigma));
    }
  }
  const HardwareProfile h100 = load_hardware("h100-sxm-8x");
  for (const std::string regime : {"gemm_few_rows", "gemm_many_rows", "prefill_attention"}) {
    std::vector<double> means;
    for (const auto& [source, logs] : of_source.at(regime)) means.push_back(spread_of(logs).mean);
    const MeanAndSpread all = spread_of(means);
    const std::string what = " of the means of " + std::to_string(means.size()) + " pairs of program and GPU";
    const RegimeError* error = stated(h100, regime);
    if (!error) continue;
    checks.push_back(
        stated_check(regime + ".sigma", regime + ": standard deviation" + what, all.spread, error->sigma));
    checks.push_back(stated_check(regime + ".bias", regime + ": mean" + what, all.mean, error->bias));
  }
  return checks;
}

void Coverage::add(double measured, std::vector<double> drawn) {
  std::sort(drawn.begin(), drawn.end());
  const double low = quantile_of_sorted(drawn, (1 - kModelShare) / 2);
  const double high = quantile_of_sorted(drawn, (1 + kModelShare) / 2);
  ++means;
  contained += low <= measured && measured <= high ? 1 : 0;
  below += measured < low ? 1 : 0;
  widths.push_back(std::log(high / low));
  shifts.push_back(std::log(measured / quantile_of_sorted(drawn, 0.5)));
}

void Coverage::add(const Coverage& other) {
  contained += other.contained;
  below += other.below;
  means += other.means;
  widths.insert(widths.end(), other.widths.begin(), other.widths.end());
  shifts.insert(shifts.end(), other.shifts.begin(), other.shifts.end());
}

namespace {

std::map<std::string, Coverage> coverage_of(const std::vector<MeasuredRun>& runs, int64_t draws) {
  const auto per_run = static_cast<std::size_t>(draws);
  const std::vector<std::vector<double>> means = values_in_workers<double>(
      runs.size() * per_run,
      [&](std::size_t job, std::atomic<int64_t>&) {
        const MeasuredRun& run = runs[job / per_run];
        const Scenario machine = drawn_scenario(run.scenario, static_cast<int64_t>(job % per_run));
        return run.simulated(simulate(machine, run.workload));
      },
      {.label = "drawing machines"});
  std::map<std::string, Coverage> families;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    Coverage& family = families[runs[r].family];
    family.gap = runs[r].gap.empty() ? family.gap : runs[r].gap;
    for (std::size_t m = 0; m < runs[r].measured.size(); ++m) {
      std::vector<double> drawn;
      for (std::size_t d = 0; d < per_run; ++d) drawn.push_back(means[r * per_run + d][m]);
      family.add(runs[r].measured[m], std::move(drawn));
    }
  }
  return families;
}

// The share of a family with fewer means is shown without a verdict.
constexpr int64_t kFewestJudged = 20;

std::string per_cent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

// True iff the family's runs were used to choose the errors of engine steps
// (engine/versions/step_errors.cpp).
bool chose_errors(const std::string& family) {
  return family.starts_with("vllm-") ||
         (family.starts_with("silicon.") && family.find("b200") == std::string::npos);
}

Check coverage_check(const std::string& id, const Coverage& coverage) {
  const int64_t above = coverage.means - coverage.contained - coverage.below;
  Check check{.id = "coverage." + id,
              .suite = kUncertaintySuite,
              .what = "share of " + std::to_string(coverage.means) +
                      " measured means that 80 % model intervals contain; half width " +
                      per_cent(std::expm1(quantile_of(coverage.widths, 0.5) / 2)) + " in the median",
              .claim = Claim::range,
              .simulated = {coverage.share()},
              .reference = {0.7, 0.9},
              .tolerance = 0.1,
              .absolute = true};
  const bool is_judged = coverage.means >= kFewestJudged;
  if (!is_judged) check.reference.clear();
  if (chose_errors(id)) check.tuned = {"errors of engines' steps"};
  check.reason = "measured " + std::to_string(coverage.below) + " below and " + std::to_string(above) +
                 " above; measured over the median machine " +
                 format_number(std::exp(quantile_of(coverage.shifts, 0.5))) + " in the median" +
                 (coverage.gap.empty() ? "" : "; " + coverage.gap);
  if (is_judged) judge(check);
  return check;
}

std::vector<Check> coverage_checks(const SuiteOptions& options) {
  const std::string& data = options.data_folder;
  std::vector<MeasuredRun> runs;
  for (const char* suite : {"stacks", "measured"}) {
    for (MeasuredRun& run : measured_runs(shipped_studies(suite, {.data_folder = data})))
      runs.push_back(std::move(run));
  }
  if (options.quick) {
    std::vector<MeasuredRun> some;
    for (std::size_t i = 0; i < runs.size(); i += kQuickEvery) some.push_back(std::move(runs[i]));
    runs = std::move(some);
  }
  Coverage all, closed_loops, unused;
  std::vector<Check> checks;
  for (const auto& [family, coverage] : coverage_of(runs, options.quick ? kQuickDraws : kDraws)) {
    checks.push_back(coverage_check(family, coverage));
    all.add(coverage);
    if (family.starts_with("silicon.")) closed_loops.add(coverage);
    if (!chose_errors(family)) unused.add(coverage);
  }
  checks.push_back(coverage_check("all", all));
  checks.push_back(coverage_check("closed_loops", closed_loops));
  checks.push_back(coverage_check("unused", unused));
  return checks;
}

}  // namespace

std::vector<Check> uncertainty_checks(const SuiteOptions& options) {
  for (const char* file : {"/device/gemm_bfloat16.csv", "/hardware/attn_prefill_aic.csv",
                           "/hardware/gemm_vidur.csv", "/runs/silicon_agg.csv.gz"}) {
    if (std::filesystem::exists(options.data_folder + file)) continue;
    return {{.id = "errors",
             .suite = kUncertaintySuite,
             .what = "errors that the profiles state, and what their intervals contain",
             .reason = "no " + options.data_folder + file + " (--data)"}};
  }
  std::vector<Check> checks = stated_error_checks(options.data_folder);
  const std::vector<Check> more = coverage_checks(options);
  checks.insert(checks.end(), more.begin(), more.end());
  return checks;
}

}  // namespace kvcap
