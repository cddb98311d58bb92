// The suite twin: compares restorations that kvcap-calibrate performed on a machine with predictions from
// that machine's profile. Both follow the same schedules, layer by layer. A table of hwprofiles/twins/ names
// its profile.
//
// The measured time of a case is the least of its repeats; a case whose median exceeds it by more than
// kMostSpread was disturbed and is reported separately.
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
  double spread = 0;  // (median - least) / least of the repeats
  double predicted_s = 0;

  double error() const { return predicted_s / measured_s - 1; }
};

// Limits of the errors that the simulator must reach.
struct TwinPromise {
  double median_error = 0;
  double p90_error = 0;
  double most_bias = 0;       // greatest median of a policy's signed errors
  double rightly_ranked = 0;  // least share of pairs in the right order, among pairs whose difference exceeds
                              // the noise
  std::size_t least_cases = 0;
};
inline constexpr TwinPromise kCpuPromise = {0.12, 0.30, 0.10, 0.95, 60};
// Launches and waits of the host, 15 us each, are not simulated: hyperinfer waits for several in each layer.
inline constexpr TwinPromise kGpuPromise = {0.07, 0.20, 0.20, 0.90, 100};

// Number of pairs of policies in one setting whose measured difference exceeds the noise of both, and of
// those that the simulator puts in the right order.
struct TwinRanking {
  int pairs = 0;
  int right = 0;
  double share() const { return pairs == 0 ? 1 : static_cast<double>(right) / pairs; }
};
TwinRanking rank(const std::vector<TwinOutcome>& outcomes);

// Returns the checks of one table; `name`: its machine.
std::vector<Check> judge_twin(const std::string& name, const std::vector<TwinOutcome>& outcomes,
                              const TwinPromise& promise);

// Returns the checks of all tables in the binary.
std::vector<Check> twin_checks();
// Returns the checks of a file; `hardware`: a profile's name or path, or empty for the one that the file
// names. Throws InputError.
std::vector<Check> twin_checks_of(const std::string& path, const std::string& hardware);

}  // namespace kvcap
