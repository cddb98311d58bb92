// Curves over a run's turns: hit rate and TTFT over time, and TTFT over the length of the history.
#pragma once

#include <vector>

#include "metrics/result.h"

namespace kvcap {

// Adds "token_hit_rate" and "mean_ttft_ms": means of the turns that arrive in each of the bins of time,
// including warm-up.
void add_turn_series(const std::vector<TurnRecord>& turns, int bins, double duration_s, NamedSeries& series);

// Returns the bins of history that measured turns lie in.
std::vector<HistoryBin> by_history(const std::vector<TurnRecord>& turns);

}  // namespace kvcap
