// Defines the metrics that are means over turns. The same definition gives their values in a result, their
// intervals within one run and their paired differences.
#pragma once

#include <string_view>
#include <vector>

#include "metrics/result.h"
#include "metrics/statistics/batch_means.h"

namespace kvcap {

inline bool is_measured(const TurnRecord& turn) { return !turn.warmup && turn.answered(); }
// before_service_s: time from the turn's first attempt to its admission. queue_s: the part of this time that
// the answered attempt spent in the queue after the API server.
double before_service_s(const TurnRecord& turn);
double queue_s(const TurnRecord& turn);
// The time per output token (TPOT) after the first token. Turns with a single output token have none.
bool has_tpot(const TurnRecord& turn);
double tpot_s(const TurnRecord& turn);

// A metric that is a sum of values divided by a sum of weights, over the measured turns. For a latency, each
// turn that has the latency has the weight 1.
struct TurnMean {
  std::string_view metric;
  std::string_view latency;  // the latency averaged, in ms; empty: not a reported latency
  Stretches::Sums (*of)(const TurnRecord&);
};
// Returns the means, latencies first, in the order of results.
const std::vector<TurnMean>& turn_means();

// Returns intervals from a single run for the means over at least 300 turns. Leaves out means whose batches
// stay correlated.
std::vector<Interval> batch_intervals(const std::vector<TurnRecord>& turns);

// Computes intervals of the differences setting - against between two single runs. Errors that the same turns
// have in common cancel. Both runs must have served the same workload: the same turns, in sessions that began
// at the same times.
class PairedTurns {
 public:
  PairedTurns(const std::vector<TurnRecord>& against, const std::vector<TurnRecord>& setting);
  // `metric`: one of turn_means(). The half-width is NaN for other metrics, and if the runs are too short.
  BatchInterval interval(std::string_view metric) const;

 private:
  struct Pair {
    const TurnRecord* against;
    const TurnRecord* setting;
  };
  std::vector<Pair> pairs_;  // order: arrival in `against`; empty: different workloads
};

}  // namespace kvcap
