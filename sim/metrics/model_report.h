// What plausible machines say of several results: machines that differ from the simulated one by errors that
// are consistent with what was measured. An interval over seeds says what chance brings; an interval over
// machines says how well the machine is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/result.h"

namespace kvcap {

// Model intervals contain so much of the drawn machines.
inline constexpr double kModelShare = 0.8;

// In which share of the machines `setting` has less of the metric than `against`.
struct Ranking {
  std::string setting, against, metric;
  double share = 0;
};

struct ModelReport {
  int64_t draws = 0;     // machines; 0: none were drawn
  int64_t sessions = 0;  // of each run on one of them
  bool is_shortened = false;
  std::vector<Ranking> rankings;
  std::vector<std::pair<std::string, int64_t>> saturated;  // setting, in how many machines
  std::vector<std::string> outside;                        // of validation: sentences without a full stop
};

// The metrics that have model intervals.
const std::vector<std::string>& model_metrics();

// model_intervals of `result`: its own value times what each machine makes of it, `nominal` and `drawn` under
// one seed. A machine that cannot run the scenario is left out.
std::vector<ModelInterval> model_intervals(const RunResult& result, const RunResult& nominal,
                                           const std::vector<RunResult>& drawn);

// Of all pairs of settings; `drawn[s][d]` is setting s on machine d. Ties count as half.
std::vector<Ranking> rankings(const std::vector<std::string>& labels,
                              const std::vector<std::vector<RunResult>>& drawn);

// A table of model intervals, the share of machines in which the setting with the least mean TTFT beats each
// other one, and what is outside of validation. "" without draws.
std::string model_text(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                       const ModelReport& report);

// "97 % of machines", and where that is all or none of those drawn, that it is.
std::string machines_text(double share, int64_t draws);

}  // namespace kvcap
