// The suite "twin": compares restoration times that kvcap-calibrate measured on a machine with predictions
// from the profile of that machine. The measurement and the prediction follow the same schedules, layer by
// layer. Each table in hwprofiles/twins/ contains the measurements of one machine and names its profile.
//
// The measured time of a case is the minimum of its repeats. If the median exceeds the minimum by more than
// kMostSpread, the case was disturbed and is reported separately.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

inline constexpr double kMostSpread = 0.15;

struct TwinOutcome {
  std::string policy;   // "hcache+kv": with hcache's division of the layers
  std::string setting;  // equal for cases that differ only in the policy
  double measured_s = 0;
  double spread = 0;  // (median - minimum) / minimum of the repeats
  double predicted_s = 0;

  double error() const { return predicted_s / measured_s - 1; }
};

// The accuracy that the simulator must reach on one table.
struct TwinPromise {
  double median_error = 0;
  double p90_error = 0;
  double most_bias = 0;       // largest |median| of a policy's signed errors
  double rightly_ranked = 0;  // least share of correctly ranked pairs, among pairs whose difference exceeds
                              // the noise
  std::size_t least_cases = 0;
};
inline constexpr TwinPromise kCpuPromise = {0.12, 0.30, 0.10, 0.95, 60};
// The limits on GPUs allow for kernel launches and host synchronizations of 15 us each, which are not
// simulated; hyperinfer waits for several of them in each layer.
inline constexpr TwinPromise kGpuPromise = {0.07, 0.20, 0.20, 0.90, 100};

// Number of pairs of policies in one setting whose measured difference exceeds the noise of both, and how
// many of these pairs the simulator ranks correctly.
struct TwinRanking {
  int pairs = 0;
  int right = 0;
  double share() const { return pairs == 0 ? 1 : static_cast<double>(right) / pairs; }
};
TwinRanking rank(const std::vector<TwinOutcome>& outcomes);

// Returns the checks of one table. `name`: the machine of the table; the ids of the checks begin with it.
std::vector<Check> judge_twin(const std::string& name, const std::vector<TwinOutcome>& outcomes,
                              const TwinPromise& promise);

// Returns the checks of all tables embedded in the program.
std::vector<Check> twin_checks();
// Returns the checks of a file. `hardware`: a profile's name or path, or empty for the profile that the file
// names. Throws InputError.
std::vector<Check> twin_checks_of(const std::string& path, const std::string& hardware);

}  // namespace kvcap
