// Fits the parameters of an engine and its machine (parameters.h) to measured runs: Levenberg-Marquardt over
// whole simulations, on the distances of distances.h, beside what the base profile states of its own errors.
// A parameter that the runs say nothing about stays where the profile has it, with the profile's error.
//
// Statistics of one window and one latency count together as one observation of standard deviation 2 %, or
// more where they are few. The deviation stands for what no parameter describes.
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
  double low = 0, high = 0;  // 95 %: of the bootstrap, and at least x +- 1.96 sigma
  double sigma = 0;          // standard deviation of x that is left
  double prior_sigma = 0;    // before the runs were seen
  // Share of what was not known that the runs tell: 1 - sigma^2 / prior_sigma^2.
  double learned() const { return 1 - sigma * sigma / (prior_sigma * prior_sigma); }
  // Else it stays as the base profile has it.
  bool is_told() const;
  std::pair<double, double> interval() const;  // of the value, from the smaller one
};

// Two parameters of which the runs tell only a combination.
struct Confounded {
  std::size_t first = 0, second = 0;  // of FitAnswer::estimates
  double correlation = 0;
};

// One mean or percentile, over the requests that the fit has not seen; where none were kept aside, over all.
struct FitError {
  std::string run, metric;  // of results: "p99_ttft_ms"
  double measured_ms = 0, base_ms = 0, fitted_ms = 0;
  bool was_fitted = false;
};

struct FitAnswer {
  std::vector<FitEstimate> estimates;
  std::vector<Confounded> confounded;
  std::vector<FitError> errors;
  FitParameters parameters;  // those that the runs tell, and what they came to
  Eigen::VectorXd x, sigma;
  int64_t simulations = 0;
  int64_t fitted_requests = 0, judged_requests = 0;
  bool has_converged = false;
};

// REQUIRES: some run is to be fitted to; all are of one hardware profile. Throws InputError where a scenario
// cannot run.
FitAnswer fit(const std::vector<FitRun>& runs);

// Adds the errors of the base profile and of the fitted one, and how many requests they are over.
void judge_fit(const std::vector<FitRun>& runs, FitAnswer& answer);

// As people read it, and as JSON (kvcap.fit/1).
std::string fit_text(const std::vector<FitRun>& runs, const FitAnswer& answer);
std::string fit_json(const std::vector<FitRun>& runs, const FitAnswer& answer);
// What the fitted profile says of itself.
std::vector<std::string> fit_notes(const std::vector<FitRun>& runs, const FitAnswer& answer);

}  // namespace kvcap
