// What a planner wants to know of a workload before simulating it: sizes, how much of it is history, and
// what a store would have to hold to find that history again.
#pragma once

#include <cstdint>
#include <optional>

#include "workload/workload.h"

namespace kvcap {

// All NaN where there is nothing to describe. Quantiles are interpolated between order statistics.
struct TraceFigure {
  double mean = 0, median = 0, p90 = 0, p99 = 0, max = 0;
};

struct TraceStats {
  int64_t sessions = 0;
  int64_t requests = 0;  // turns
  // From the first arrival to the last; nothing where arrivals are drawn rather than recorded.
  std::optional<double> duration_s;
  double multi_turn_share = 0;  // of the sessions
  TraceFigure turns;            // of a session
  TraceFigure input_tokens;     // new ones of a request
  TraceFigure output_tokens;
  TraceFigure history_tokens;        // before a request's new ones
  TraceFigure context_tokens;        // of a stored context at its end; a shared document counts once
  int64_t total_context_tokens = 0;  // of all of them: what a store that keeps everything holds
  // Of all prompt tokens (history + input): those that are history, and those a store that keeps
  // everything finds. They differ by contexts that nobody has asked about before.
  double history_token_share = 0;
  double infinite_cache_token_hit_rate = 0;
  // The same in blocks of kStatsBlockTokens: full blocks found / blocks of all prompts.
  double infinite_cache_block_hit_rate = 0;
  // Of requests that find something: tokens of the distinct contexts used since that context was last
  // (itself included), which is the capacity from which on LRU finds it; and the time since.
  int64_t reuses = 0;
  TraceFigure reuse_distance_tokens;
  TraceFigure reuse_distance_s;
};

inline constexpr int64_t kStatsBlockTokens = 64;

// Requests are taken at their arrivals, as if every answer took no time.
TraceStats trace_stats(const Workload& workload);

}  // namespace kvcap
