// Fits the parameters of an engine and its machine (parameters.h) to measured runs. Levenberg-Marquardt steps
// over whole simulations minimize the distances of distances.h together with the deviations from the base
// profile, weighted by the profile's stated errors. A parameter that the runs do not identify keeps the
// profile's value and error.
//
// All statistics of one latency in one window together count as one observation with a standard deviation of
// 2 %, or more if the window has few requests. The 2 % stand for effects that no parameter describes.
#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fit/fit_run.h"
#include "fit/parameters.h"

namespace kvcap {

struct FitEstimate {
  FitParameter parameter;
  double x = 0;
  double low = 0, high = 0;  // 95 % interval: bootstrap, and at least x +- 1.96 sigma
  double sigma = 0;          // posterior standard deviation of x
  double prior_sigma = 0;    // prior standard deviation of x
  // Share of the prior variance that the runs remove: 1 - sigma^2 / prior_sigma^2.
  double learned() const { return 1 - sigma * sigma / (prior_sigma * prior_sigma); }
  // True iff the runs identify the parameter; otherwise it keeps the base profile's value.
  bool is_told() const;
  std::pair<double, double> interval() const;  // interval of the value, lower end first
};

// Two parameters of which the runs identify only a combination.
struct Confounded {
  std::size_t first = 0, second = 0;  // indices in FitAnswer::estimates
  double correlation = 0;
};

// The error of one mean or percentile over the held-out requests, or over all requests if none were held out.
struct FitError {
  std::string run, metric;  // metric: as in results, "p99_ttft_ms"
  double measured_ms = 0, base_ms = 0, fitted_ms = 0;
  bool was_fitted = false;
};

struct FitAnswer {
  std::vector<FitEstimate> estimates;
  std::vector<Confounded> confounded;
  std::vector<FitError> errors;
  FitParameters parameters;  // the identified parameters, to which `x` and `sigma` belong
  Eigen::VectorXd x, sigma;
  int64_t simulations = 0;
  int64_t fitted_requests = 0, judged_requests = 0;
  bool has_converged = false;
};

// Fits all parameters and judges the result. REQUIRES: at least one run is fitted, and all runs have the same
// hardware profile. Throws InputError if a scenario cannot run.
FitAnswer fit(const std::vector<FitRun>& runs);

// Adds the errors of the base profile and of the fitted profile, and the numbers of requests, to the answer.
void judge_fit(const std::vector<FitRun>& runs, FitAnswer& answer);

}  // namespace kvcap
