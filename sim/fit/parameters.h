// The parameters that a fit may change. Each parameter is a logarithm x, so that all have the same scale. The
// prior of x is normal:
//
//   - For a regime of the machine (spec/machine_errors.h), exp(x) is a factor on simulated times or on the KV
//     capacity. The width of the prior is the error that the profile states; kernels of one class share a
//     part of this error.
//   - For a host time, exp(x) is the time divided by its reference. The prior spans a factor of twenty around
//     the reference.
//   - For a log that does not show its prefix-cache hits, exp(x) is the share of the prompt tokens that the
//     server computed. The prior approximates a uniform distribution of this share.
#pragma once

#include <Eigen/Dense>
#include <string>
#include <vector>

#include "fit/fit_run.h"

namespace kvcap {

struct FitParameter {
  std::string name;  // name of a regime, or of a field of `serving`
  std::string meaning;
  double reference_s = 0;  // host times: value = reference_s exp(x); 0: the value is the factor exp(x)
  double prior = 0;        // mean of x
  std::string of_run;      // hit shares: the run; value = 1 - exp(x), or 0 for x above 0. Otherwise empty

  double value_of(double x) const;
};

struct FitParameters {
  std::vector<FitParameter> all;
  Eigen::VectorXd mean;        // prior mean of x
  Eigen::MatrixXd covariance;  // prior covariance of x
};

// Returns the parameters that change at least one fitted run. The references of host times come from the base
// profile's `engine`, otherwise from defaults. Host times that all fitted runs set are omitted.
FitParameters parameters_of(const std::vector<FitRun>& runs);

// Returns the parameters at the given indices, ascending.
FitParameters only(const FitParameters& parameters, const std::vector<Eigen::Index>& kept);

// Returns the run's scenario with these parameters; host times that the run sets are kept.
Scenario scenario_at(const FitRun& run, const FitParameters& parameters, const Eigen::VectorXd& x);

// Returns the run's requests, with the fitted or given hits if the log does not show them.
Workload workload_at(const FitRun& run, const FitParameters& parameters, const Eigen::VectorXd& x);

// Returns the profile with these parameters: times, `engine`, and `errors`. The errors shrink in the ratio of
// `sigma`, the fitted standard deviations of x, to the prior ones.
HardwareProfile profile_at(const FitRun& run, const FitParameters& parameters, const Eigen::VectorXd& x,
                           const Eigen::VectorXd& sigma);

}  // namespace kvcap
