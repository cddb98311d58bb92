// Curves over a run's turns: hit rate and TTFT over time, and TTFT over the length of the history.
#pragma once

#include <vector>

#include "metrics/result.h"

namespace kvcap {

// Adds "token_hit_rate" and "mean_ttft_ms": means over the turns that arrive in each time bin, including
// warm-up.
void add_turn_series(const std::vector<TurnRecord>& turns, int bins, double duration_s, NamedSeries& series);

// Returns the history bins that contain measured turns.
std::vector<HistoryBin> by_history(const std::vector<TurnRecord>& turns);

}  // namespace kvcap
