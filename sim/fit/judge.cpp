// Computes the errors of a fit on held-out requests.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "fit/distances.h"
#include "fit/fit.h"
#include "metrics/statistics/quantiles.h"
#include "plan/values_in_workers.h"
#include "run/simulate.h"

namespace kvcap {
namespace {

// The requests by which a run is judged, and whether they were fitted.
struct JudgedRequests {
  std::vector<std::size_t> requests;
  bool were_fitted = false;
};

JudgedRequests judged_requests(const FitRun& run) {
  JudgedRequests judged;
  if (run.measured.empty()) return {.requests = {}, .were_fitted = !run.only_judged};
  const Windows windows(run.measured.size());
  const auto add = [&](std::size_t window) {
    for (std::size_t i = windows.begin(window); i < windows.begin(window + 1); ++i)
      judged.requests.push_back(i);
  };
  for (std::size_t w = 0; w < windows.count(); ++w) {
    if (run.only_judged || windows.is_kept_aside(w)) add(w);
  }
  judged.were_fitted = judged.requests.empty();
  for (std::size_t w = 0; w < windows.count() && judged.were_fitted; ++w) add(w);
  return judged;
}

// Appends the mean, median and 99th percentile of the known values, in ms; 0 if none is known.
void append(std::vector<double> values, std::vector<double>& to) {
  values.erase(std::remove_if(values.begin(), values.end(), [](double one) { return std::isnan(one); }),
               values.end());
  if (values.empty()) return to.insert(to.end(), {0, 0, 0}), void();
  std::sort(values.begin(), values.end());
  double sum_s = 0;
  for (const double one : values) sum_s += one;
  to.insert(to.end(), {1e3 * sum_s / static_cast<double>(values.size()),
                       1e3 * quantile_of_sorted(values, 0.5), 1e3 * quantile_of_sorted(values, 0.99)});
}

std::vector<double> numbers_of(const std::vector<RequestTimes>& times,
                               const std::vector<std::size_t>& requests) {
  std::vector<double> numbers;
  for (const auto time : kTimes) {
    std::vector<double> values;
    for (const std::size_t i : requests) values.push_back(times[i].*time);
    append(std::move(values), numbers);
  }
  return numbers;
}

std::vector<std::string> names_of(const FitRun& run) {
  std::vector<std::string> names;
  for (const std::string time : kTimeNames) {
    for (const char* part : {"mean_", "median_", "p99_"}) names.push_back(part + time + "_ms");
  }
  for (const MeasuredMetric& one : run.metrics) names.push_back(one.name);
  return names;
}

std::vector<double> measured_numbers(const FitRun& run, const std::vector<std::size_t>& requests) {
  std::vector<double> numbers = numbers_of(measured_times(run), requests);
  for (const MeasuredMetric& one : run.metrics) numbers.push_back(one.value);
  return numbers;
}

std::vector<double> simulated_numbers(const FitRun& run, const std::vector<std::size_t>& requests,
                                      const RunResult& result) {
  std::vector<double> numbers = numbers_of(simulated_times(run, result), requests);
  for (const MeasuredMetric& one : run.metrics) numbers.push_back(result.number(one.name));
  return numbers;
}

}  // namespace

void judge_fit(const std::vector<FitRun>& runs, FitAnswer& answer) {
  std::vector<JudgedRequests> judged;
  for (const FitRun& run : runs) judged.push_back(judged_requests(run));
  // Two simulations per run: the base profile, then the fitted one.
  const std::vector<std::vector<double>> simulated =
      values_in_workers<double>(2 * runs.size(), [&](std::size_t job, std::atomic<int64_t>&) {
        const FitRun& run = runs[job / 2];
        const Scenario scenario = job % 2 == 0 ? run.scenario : scenario_at(run, answer.parameters, answer.x);
        const FitParameters none;
        const Workload workload =
            job % 2 == 0 ? workload_at(run, none, {}) : workload_at(run, answer.parameters, answer.x);
        return simulated_numbers(run, judged[job / 2].requests, simulate(scenario, workload));
      });
  answer.simulations += std::ssize(simulated);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const FitRun& run = runs[r];
    const auto requests = std::ssize(run.workload.turns), aside = std::ssize(judged[r].requests);
    answer.judged_requests += judged[r].were_fitted ? 0 : aside;
    if (!run.only_judged) answer.fitted_requests += judged[r].were_fitted ? requests : requests - aside;
    const std::vector<double> measured = measured_numbers(run, judged[r].requests);
    const std::vector<std::string> names = names_of(run);
    const std::vector<double>& base = simulated[2 * r];
    const std::vector<double>& fitted = simulated[2 * r + 1];
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!(measured[i] > 0) || std::isnan(base[i]) || std::isnan(fitted[i])) continue;
      answer.errors.push_back({.run = run.name,
                               .metric = names[i],
                               .measured_ms = measured[i],
                               .base_ms = base[i],
                               .fitted_ms = fitted[i],
                               .was_fitted = judged[r].were_fitted});
    }
  }
}

}  // namespace kvcap
