#include "fit/parameters.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cost/drawn_machine.h"
#include "run/drawn_scenario.h"

namespace kvcap {
namespace {

// 5 % of a normal distribution lie beyond 2 sigma; exp(2 kHostSigma) is 20.
constexpr double kHostSigma = 1.5;
// Prior of ln(computed share): if the share is uniform, -x has mean 1 and standard deviation 1.
constexpr double kComputedShare = -1, kComputedShareSigma = 1;

struct HostTime {
  std::string_view name, meaning;
  double reference_s;
  double ServingOptions::*of_serving;
  std::optional<double> EngineTimes::*of_engine;
};
// References: vLLM's scheduler and input preparation take 0.2 to 2 ms per step, its API server and tokenizer
// 1 to 50 ms per request.
constexpr std::array kHostTimes = {
    HostTime{"step_overhead_s", "host time of a step", 0.5e-3, &ServingOptions::step_overhead_s,
             &EngineTimes::step_overhead_s},
    HostTime{"step_overhead_per_sequence_s", "host time of a step per sequence", 5e-6,
             &ServingOptions::step_overhead_per_sequence_s, &EngineTimes::step_overhead_per_sequence_s},
    HostTime{"request_overhead_s", "API server and tokenizer per request", 5e-3,
             &ServingOptions::request_overhead_s, &EngineTimes::request_overhead_s}};

const HostTime* host_time(std::string_view name) {
  const auto found = std::find_if(kHostTimes.begin(), kHostTimes.end(),
                                  [name](const HostTime& one) { return one.name == name; });
  return found == kHostTimes.end() ? nullptr : &*found;
}

const Regime* regime(std::string_view name) {
  const auto found =
      std::find_if(kRegimes.begin(), kRegimes.end(), [name](const Regime& one) { return one.name == name; });
  return found == kRegimes.end() ? nullptr : &*found;
}

// True iff the regime is a parameter. Host times are separate parameters, a regime without an error is exact,
// and the error that all kernels of a step share is part of each kernel's own error.
bool is_fitted(const Regime& one, const std::vector<FitRun>& runs) {
  const RegimeError error = error_of(runs.front().scenario.hardware, one);
  if (one.name == "host" || !(error.sigma + error.shape_sigma > 0)) return false;
  return std::any_of(runs.begin(), runs.end(), [&](const FitRun& run) {
    return !run.only_judged && uses_regime(run.scenario, one.name);
  });
}

bool states(const FitRun& run, const HostTime& one) {
  return std::find(run.stated.begin(), run.stated.end(), one.name) != run.stated.end();
}

bool is_stated(const HostTime& one, const std::vector<FitRun>& runs) {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const FitRun& run) { return run.only_judged || states(run, one); });
}

// A server's link may be of another generation than the profile's; generations differ by a factor of 2.
constexpr double kLeastLinkSigma = 0.5;

// Returns the prior covariance of two regimes; kernels of one class share an error.
double covariance_of(const HardwareProfile& hardware, const Regime& a, const Regime& b) {
  const RegimeError of_a = error_of(hardware, a), of_b = error_of(hardware, b);
  if (a.machine && a.name == b.name) return std::pow(std::max(kLeastLinkSigma, of_a.sigma), 2);
  const double shared = a.kernel == b.kernel ? of_a.sigma * of_b.sigma : 0;
  return shared + (a.name == b.name ? of_a.shape_sigma * of_a.shape_sigma / a.shapes : 0);
}

}  // namespace

double FitParameter::value_of(double x) const {
  if (!of_run.empty()) return 1 - std::exp(std::min(x, 0.0));
  return (reference_s > 0 ? reference_s : 1) * std::exp(x);
}

FitParameters parameters_of(const std::vector<FitRun>& runs) {
  const HardwareProfile& hardware = runs.front().scenario.hardware;
  FitParameters parameters;
  for (const Regime& one : kRegimes) {
    if (!is_fitted(one, runs)) continue;
    parameters.all.push_back({.name = std::string(one.name),
                              .meaning = std::string(one.meaning),
                              .prior = error_of(hardware, one).bias});
  }
  for (const HostTime& one : kHostTimes) {
    if (is_stated(one, runs)) continue;
    const double known_s = hardware.engine ? ((*hardware.engine).*one.of_engine).value_or(0) : 0;
    parameters.all.push_back({.name = std::string(one.name),
                              .meaning = std::string(one.meaning),
                              .reference_s = known_s > 0 ? known_s : one.reference_s});
  }
  for (const FitRun& run : runs) {
    if (run.only_judged || !run.hits.are_fitted()) continue;
    parameters.all.push_back({.name = "hit_share",
                              .meaning = "share of the prompts' tokens that " + run.name + " found cached",
                              .prior = kComputedShare,
                              .of_run = run.name});
  }
  const auto size = static_cast<Eigen::Index>(parameters.all.size());
  parameters.mean.setZero(size);
  parameters.covariance.setZero(size, size);
  for (Eigen::Index i = 0; i < size; ++i) {
    const FitParameter& parameter = parameters.all[static_cast<std::size_t>(i)];
    parameters.mean[i] = parameter.prior;
    const Regime* of_i = regime(parameter.name);
    for (Eigen::Index j = 0; j < size && of_i; ++j) {
      const Regime* of_j = regime(parameters.all[static_cast<std::size_t>(j)].name);
      if (of_j) parameters.covariance(i, j) = covariance_of(hardware, *of_i, *of_j);
    }
    if (!of_i)
      parameters.covariance(i, i) = std::pow(parameter.of_run.empty() ? kHostSigma : kComputedShareSigma, 2);
  }
  return parameters;
}

FitParameters only(const FitParameters& parameters, const std::vector<Eigen::Index>& kept) {
  FitParameters some{
      .all = {}, .mean = parameters.mean(kept), .covariance = parameters.covariance(kept, kept)};
  for (const Eigen::Index i : kept) some.all.push_back(parameters.all[static_cast<std::size_t>(i)]);
  return some;
}

static RegimeFactors factors_at(const FitParameters& parameters, const Eigen::VectorXd& x) {
  RegimeFactors factors;
  factors.fill(1);
  for (std::size_t i = 0; i < parameters.all.size(); ++i) {
    const Regime* one = regime(parameters.all[i].name);
    if (one)
      factors[static_cast<std::size_t>(one - kRegimes.data())] = std::exp(x[static_cast<Eigen::Index>(i)]);
  }
  return factors;
}

Scenario scenario_at(const FitRun& run, const FitParameters& parameters, const Eigen::VectorXd& x) {
  Scenario scenario = scenario_with(run.scenario, factors_at(parameters, x));
  for (std::size_t i = 0; i < parameters.all.size(); ++i) {
    const HostTime* one = host_time(parameters.all[i].name);
    if (one && !states(run, *one))
      scenario.serving.*one->of_serving = parameters.all[i].value_of(x[static_cast<Eigen::Index>(i)]);
  }
  return scenario;
}

Workload workload_at(const FitRun& run, const FitParameters& parameters, const Eigen::VectorXd& x) {
  double hit_share = run.hits.given.value_or(0);
  for (std::size_t i = 0; i < parameters.all.size(); ++i) {
    if (parameters.all[i].of_run == run.name)
      hit_share = parameters.all[i].value_of(x[static_cast<Eigen::Index>(i)]);
  }
  if (hit_share == 0) return run.workload;
  return with_hits(run.workload, run.hits.shared, hit_share, run.scenario.serving.block_size);
}

HardwareProfile profile_at(const FitRun& run, const FitParameters& parameters, const Eigen::VectorXd& x,
                           const Eigen::VectorXd& sigma) {
  const Scenario& base = run.scenario;
  HardwareProfile profile = machine_with(base.hardware, factors_at(parameters, x));
  EngineTimes engine = base.hardware.engine.value_or(EngineTimes{});
  if (!run.engine.empty()) engine.name = run.engine;
  double host_sigma = 0;
  for (std::size_t i = 0; i < parameters.all.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const FitParameter& parameter = parameters.all[i];
    if (!parameter.of_run.empty()) continue;
    if (const HostTime* one = host_time(parameter.name)) {
      engine.*one->of_engine = parameter.value_of(x[at]);
      host_sigma = std::max(host_sigma, sigma[at]);
      continue;
    }
    const Regime& one = *regime(parameter.name);
    if (one.name == "kv_capacity") engine.kv_capacity_share *= std::exp(x[at]);
    RegimeError error = error_of(base.hardware, one);
    const double share = sigma[at] / std::sqrt(parameters.covariance(at, at));
    error.sigma = std::min(1.0, std::max(share * error.sigma, one.machine ? sigma[at] : 0));
    error.shape_sigma *= share;
    error.bias = 0;
    profile.errors.*one.error = error;
  }
  profile.errors.steps = RegimeError{};  // contained in the fitted factors of the kernels
  if (host_sigma > 0) profile.errors.host = RegimeError{.sigma = std::min(1.0, host_sigma)};
  profile.engine = engine;
  return profile;
}

}  // namespace kvcap
