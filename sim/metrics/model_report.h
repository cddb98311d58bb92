// Model intervals: how results vary over plausible machines, which differ from the simulated machine by
// errors of the machine model that are consistent with measurements. An interval over seeds shows random
// variation; an interval over machines shows how well the machine is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/result.h"

namespace kvcap {

// Share of the drawn machines that a model interval contains.
inline constexpr double kModelShare = 0.8;

// Share of the machines on which `setting` has a lower value of the metric than `against`.
struct Ranking {
  std::string setting, against, metric;
  double share = 0;
};

struct ModelReport {
  int64_t draws = 0;     // number of drawn machines
  int64_t sessions = 0;  // sessions of each run
  bool is_shortened = false;
  bool is_too_long = false;  // true: no machine was drawn, because that takes longer than the runs
  std::vector<Ranking> rankings;
  std::vector<std::pair<std::string, int64_t>> saturated;  // setting, number of machines that it saturates
  std::vector<std::string> outside;                        // assumptions outside the validated range:
                                                           // sentences without a full stop
};

// Returns the names of the metrics that have model intervals.
const std::vector<std::string>& model_metrics();

// Returns the model intervals for `result`. `nominal` and `drawn`: runs under the same seed on the nominal
// machine and on each drawn machine. The value of a metric on a machine is estimated by on_machine().
// Machines that cannot run the scenario are excluded.
std::vector<ModelInterval> model_intervals(const RunResult& result, const RunResult& nominal,
                                           const std::vector<RunResult>& drawn);

// Returns the estimate of a metric on a drawn machine: `value` x `drawn` / `nominal`. `drawn` and `nominal`
// may come from shorter runs than `value`.
double on_machine(double value, double nominal, double drawn);

// Returns the rankings of all pairs of settings. The value of setting s on machine d is on_machine() of
// `results[s]`, `nominal[s]` and `drawn[s][d]`. Ties count as half.
std::vector<Ranking> rankings(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                              const std::vector<RunResult>& nominal,
                              const std::vector<std::vector<RunResult>>& drawn);

// True iff the setting can be built. Other settings only serve as bounds.
bool can_win(const RunResult& result);
// Returns the setting with the least mean TTFT among those that can be built; results.size() if there is
// none.
std::size_t best_of(const std::vector<RunResult>& results);

// Returns a warning if the shorter runs on the nominal machine rank another setting before best_of(results),
// otherwise "".
std::string reversed_ranking(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                             const std::vector<RunResult>& nominal, int64_t sessions);

}  // namespace kvcap
