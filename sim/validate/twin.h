// The suite twin: restorations that kvcap-calibrate really performed on a machine, and what the simulator
// predicts for them from that machine's profile. Both follow the same schedules, layer by layer. A table of
// hwprofiles/twins/ names the profile that it goes with.
//
// The measured time of a case is the least of its repeats; a case whose median lies further above that than
// kMostSpread was disturbed and is reported apart.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

inline constexpr double kMostSpread = 0.15;

struct TwinOutcome {
  std::string policy;   // with how hcache divides the layers
  std::string setting;  // cases that differ in the policy alone have the same
  double measured_s = 0;
  double spread = 0;  // of the repeats: (median - least) / least
  double predicted_s = 0;

  double error() const { return predicted_s / measured_s - 1; }
};

// What the simulator must reach.
struct TwinPromise {
  double median_error = 0;
  double p90_error = 0;
  std::size_t least_cases = 0;
};
inline constexpr TwinPromise kCpuPromise = {0.12, 0.30, 60};
inline constexpr TwinPromise kGpuPromise = {0.07, 0.20, 100};
inline constexpr double kMostBias = 0.10;       // of any policy, median of its errors with their signs
inline constexpr double kRightlyRanked = 0.95;  // of the pairs of policies that differ by more than noise

// Pairs of policies in the same setting whose measured difference exceeds both cases' noise, and how many of
// them the simulator has in the right order.
struct TwinRanking {
  int pairs = 0;
  int right = 0;
  double share() const { return pairs == 0 ? 1 : static_cast<double>(right) / pairs; }
};
TwinRanking rank(const std::vector<TwinOutcome>& outcomes);

// The checks of one table; `name`: its machine.
std::vector<Check> judge_twin(const std::string& name, const std::vector<TwinOutcome>& outcomes,
                              const TwinPromise& promise);

// Of all tables in the binary.
std::vector<Check> twin_checks();
// Of a file; `hardware`: a profile's name or path, or empty for the one that the file names. Throws
// InputError.
std::vector<Check> twin_checks_of(const std::string& path, const std::string& hardware);

}  // namespace kvcap
