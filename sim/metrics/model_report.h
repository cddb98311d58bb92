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

// What a metric is on a drawn machine whose runs may be shorter: its value times what the machine makes of
// it.
double on_machine(double value, double nominal, double drawn);

// Of all pairs of settings, by what model intervals are made of: on_machine of `results[s]`, `nominal[s]` and
// `drawn[s][d]`, which is setting s on machine d. Ties count as half.
std::vector<Ranking> rankings(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                              const std::vector<RunResult>& nominal,
                              const std::vector<std::vector<RunResult>>& drawn);

// That shorter runs put others before the setting that has the least mean TTFT; "" where they do not.
std::string reversed_ranking(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                             const std::vector<RunResult>& nominal, int64_t sessions);

// A table of model intervals, the share of machines in which the setting with the least mean TTFT beats each
// other one, and what is outside of validation. "" without draws.
std::string model_text(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                       const ModelReport& report);

// "97 % of machines", and where that is all or none of those drawn, that it is.
std::string machines_text(double share, int64_t draws);

}  // namespace kvcap
