// The suite twin: compares restorations that kvcap-calibrate performed on a machine with predictions from
// that machine's profile. Both follow the same schedules, layer by layer. Each table in hwprofiles/twins/
// names its profile.
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
  std::string policy;   // including hcache's division of the layers
  std::string setting;  // equal for cases that differ only in the policy
  double measured_s = 0;
  double spread = 0;  // (median - minimum) / minimum of the repeats
  double predicted_s = 0;

  double error() const { return predicted_s / measured_s - 1; }
};

// Limits of the errors that the simulator must reach.
struct TwinPromise {
  double median_error = 0;
  double p90_error = 0;
  double most_bias = 0;       // largest |median| of a policy's signed errors
  double rightly_ranked = 0;  // least share of correctly ranked pairs, among pairs whose difference exceeds
                              // the noise
  std::size_t least_cases = 0;
};
inline constexpr TwinPromise kCpuPromise = {0.12, 0.30, 0.10, 0.95, 60};
// Kernel launches and host synchronizations, 15 us each, are not simulated; hyperinfer waits for several of
// them in each layer.
inline constexpr TwinPromise kGpuPromise = {0.07, 0.20, 0.20, 0.90, 100};

// Number of pairs of policies in one setting whose measured difference exceeds the noise of both, and how
// many of these pairs the simulator ranks correctly.
struct TwinRanking {
  int pairs = 0;
  int right = 0;
  double share() const { return pairs == 0 ? 1 : static_cast<double>(right) / pairs; }
};
TwinRanking rank(const std::vector<TwinOutcome>& outcomes);

// Returns the checks of one table. `name`: the table's machine, with which the checks' ids begin.
std::vector<Check> judge_twin(const std::string& name, const std::vector<TwinOutcome>& outcomes,
                              const TwinPromise& promise);

// Returns the checks of all tables in the binary.
std::vector<Check> twin_checks();
// Returns the checks of a file. `hardware`: a profile's name or path, or empty for the profile that the file
// names. Throws InputError.
std::vector<Check> twin_checks_of(const std::string& path, const std::string& hardware);

}  // namespace kvcap
