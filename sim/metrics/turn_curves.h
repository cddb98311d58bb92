// Computes curves from the turns of a run: hit rate and TTFT over time, and TTFT by length of the history.
#pragma once

#include <vector>

#include "metrics/result.h"

namespace kvcap {

// Adds the series "token_hit_rate" and "mean_ttft_ms": means over the turns that arrive in each time bin,
// including warm-up turns.
void add_turn_series(const std::vector<TurnRecord>& turns, int bins, double duration_s, NamedSeries& series);

// Returns the history bins that contain measured turns.
std::vector<HistoryBin> by_history(const std::vector<TurnRecord>& turns);

}  // namespace kvcap
