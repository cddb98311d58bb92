// TraceStats: statistics of a workload that need no simulation: its size, the share of history in its
// prompts, and the store capacity at which this history hits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workload/miss_ratio.h"
#include "workload/workload.h"

namespace kvcap {

// Mean, quantiles and maximum of a quantity; all NaN if there are no values. Quantiles are interpolated
// between order statistics.
struct TraceFigure {
  double mean = 0, median = 0, p90 = 0, p99 = 0, max = 0;
};

inline constexpr int64_t kStatsBlockTokens = 64;

struct TraceStats {
  int64_t sessions = 0;
  int64_t requests = 0;  // turns
  // Seconds from the first arrival to the last, and coefficient of variation of the gaps between requests;
  // nullopt if arrivals are drawn, not recorded.
  std::optional<double> duration_s;
  std::optional<double> request_gap_cv;
  double multi_turn_share = 0;  // share of sessions with more than one turn
  TraceFigure turns;            // per session
  TraceFigure input_tokens;     // new tokens per request
  TraceFigure output_tokens;
  // Tokens per request: its context, its ancestors' tokens, and the pieces of its input that earlier requests
  // left in the store.
  TraceFigure history_tokens;
  // Tokens per stored text at the end of the workload (for_each_stored_text).
  TraceFigure context_tokens;
  // tokens in a store that keeps everything, at the end of the workload
  int64_t total_context_tokens = 0;
  int64_t pieces = 0;         // in all prompts including their histories; 0 if the source has no pieces
  int64_t unique_pieces = 0;  // number of different pieces
  // Shares of all prompt tokens: history, and hits in a store that keeps everything. They differ by contexts
  // that no earlier turn has used, which are history but do not hit.
  double history_token_share = 0;
  double infinite_cache_token_hit_rate = 0;
  double mean_request_hit_rate = 0;  // mean over requests of each request's token hit rate
  // Block hit rates: blocks that hit / blocks of all prompts, and full blocks that hit / full blocks of all
  // prompts. If there are pieces, each piece is a block, and block_tokens is the size of a full one. If
  // pieces have no common size, block_tokens is 0 and the second rate is NaN.
  int64_t block_tokens = kStatsBlockTokens;
  double infinite_cache_block_hit_rate = 0;
  double infinite_cache_full_block_hit_rate = 0;
  // A reuse is a request with a hit. Its distance is the tokens of all different contexts used since the last
  // use of the request's context, including that context: the smallest LRU capacity at which the request
  // hits. reuse_distance_s is the time since that use. If a request hits several texts, the distance is that
  // of the least recently used one. Pieces that all prompts contain are ignored.
  int64_t reuses = 0;
  TraceFigure reuse_distance_tokens;
  TraceFigure reuse_distance_s;
  // Miss-ratio curve of an LRU store of contexts or pieces. All pieces of a prompt count as used at the same
  // time. With prefix keys a block hits iff all blocks before it hit.
  std::vector<MissRatioPoint> miss_ratio_curve;
};

// Processes requests in the order of arrival, as if answers took no time.
TraceStats trace_stats(const Workload& workload);

}  // namespace kvcap
