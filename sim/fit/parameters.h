// The few numbers that a fit may change. Each is x = ln of a factor on simulated times (or on the KV
// capacity), of a time over its reference, or of the share of a log's prompts that its server computed, so
// that all of them are of the same kind. What is known of x before any run is seen is normal: of the regimes
// of a machine (spec/machine_errors.h) what the profile states, with the error that kernels of one class
// share; of host times, which may be anything, that they are within a factor of twenty of the reference; of
// the computed share that any is as likely as any other.
#pragma once

#include <Eigen/Dense>
#include <string>
#include <vector>

#include "fit/fit_run.h"

namespace kvcap {

struct FitParameter {
  std::string name;  // of a regime, or of a field of `serving`
  std::string meaning;
  double reference_s = 0;  // of host times: value = reference_s exp(x). 0: a factor exp(x)
  double prior = 0;        // mean of x
  std::string of_run;      // a hit share is that run's alone: value = 1 - exp(x), none above 0; else empty

  double value_of(double x) const;
};

struct FitParameters {
  std::vector<FitParameter> all;
  Eigen::VectorXd mean;        // of x, before any run is seen
  Eigen::MatrixXd covariance;  // likewise
};

// Those that change anything in some run that is fitted to. Host times are those of the base's `engine`, or
// references; those that all such runs state are not among them.
FitParameters parameters_of(const std::vector<FitRun>& runs);

// Those at the given places, ascending.
FitParameters only(const FitParameters& parameters, const std::vector<Eigen::Index>& kept);

// The run's scenario with these parameters; host times that it states stay.
Scenario scenario_at(const FitRun& run, const FitParameters& parameters, const Eigen::VectorXd& x);

// Its requests, with the hits that the fit has found or the user states where the log says nothing of them.
Workload workload_at(const FitRun& run, const FitParameters& parameters, const Eigen::VectorXd& x);

// The profile with them: times, `engine`, and `errors`, smaller by as much as the fit has made the standard
// deviations `sigma` of x smaller.
HardwareProfile profile_at(const FitRun& run, const FitParameters& parameters, const Eigen::VectorXd& x,
                           const Eigen::VectorXd& sigma);

}  // namespace kvcap
