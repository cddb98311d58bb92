// The metrics that are means over turns: one definition for their values in a result, their intervals inside
// one run and their paired differences.
#pragma once

#include <string_view>
#include <vector>

#include "metrics/result.h"
#include "metrics/statistics/batch_means.h"

namespace kvcap {

inline bool is_measured(const TurnRecord& turn) { return !turn.warmup && turn.answered(); }
// From its first attempt to its admission, and of that what the attempt that was answered has queued once the
// API server had passed it on.
double before_service_s(const TurnRecord& turn);
double queue_s(const TurnRecord& turn);
// Time per output token after the first; turns with a single one have none.
bool has_tpot(const TurnRecord& turn);
double tpot_s(const TurnRecord& turn);

// Sum of values / sum of weights over the measured turns. A latency has weight 1 for the turns that have it.
struct TurnMean {
  std::string_view metric;
  std::string_view latency;  // whose mean it is, in ms; empty: a share
  Stretches::Sums (*of)(const TurnRecord&);
};
// In the order in which results have the latencies, shares last.
const std::vector<TurnMean>& turn_means();

// The intervals inside one run, of every mean over at least 300 turns. Those whose batches stay correlated
// are left out: one run cannot tell.
std::vector<Interval> batch_intervals(const std::vector<TurnRecord>& turns);

// Half the width of the interval of setting - against, where the errors of the same turns cancel. Nothing is
// known unless both have served the same workload: the same turns of sessions that began at the same times.
class PairedTurns {
 public:
  PairedTurns(const std::vector<TurnRecord>& against, const std::vector<TurnRecord>& setting);
  // `metric` of turn_means(); else, or where one run cannot tell, the half-width is NaN.
  BatchInterval interval(std::string_view metric) const;

 private:
  struct Pair {
    const TurnRecord* against;
    const TurnRecord* setting;
  };
  std::vector<Pair> pairs_;  // in the order in which they arrived in `against`; empty: not the same workload
};

}  // namespace kvcap
