// What a planner wants to know of a workload before simulating it: sizes, how much of it is history, and
// what a store would have to hold to find that history again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workload/miss_ratio.h"
#include "workload/workload.h"

namespace kvcap {

// All NaN where there is nothing to describe. Quantiles are interpolated between order statistics.
struct TraceFigure {
  double mean = 0, median = 0, p90 = 0, p99 = 0, max = 0;
};

inline constexpr int64_t kStatsBlockTokens = 64;

struct TraceStats {
  int64_t sessions = 0;
  int64_t requests = 0;  // turns
  // From the first arrival to the last, and standard deviation over mean of the gaps between requests;
  // nothing where arrivals are drawn rather than recorded.
  std::optional<double> duration_s;
  std::optional<double> request_gap_cv;
  double multi_turn_share = 0;  // of the sessions
  TraceFigure turns;            // of a session
  TraceFigure input_tokens;     // new ones of a request
  TraceFigure output_tokens;
  // A request's context and its ancestors' tokens, and those pieces of its input that earlier requests have
  // left.
  TraceFigure history_tokens;
  // Of a stored text at its end (for_each_stored_text).
  TraceFigure context_tokens;
  int64_t total_context_tokens = 0;  // of all of them: what a store that keeps everything holds
  int64_t pieces = 0;                // of all prompts with their histories; 0 where the source has none
  int64_t unique_pieces = 0;         // of them
  // Of all prompt tokens: those that are history, and those a store that keeps everything finds. They
  // differ by contexts that nobody has asked about before.
  double history_token_share = 0;
  double infinite_cache_token_hit_rate = 0;
  double mean_request_hit_rate = 0;  // the mean of the requests' own shares of tokens found
  // The same in blocks of `block_tokens` (with pieces, the largest of them; smaller ones count too): full
  // blocks found / blocks of all prompts, and / full blocks of all prompts. Without a common size:
  // 0 tokens, and NaN for the second.
  int64_t block_tokens = kStatsBlockTokens;
  double infinite_cache_block_hit_rate = 0;
  double infinite_cache_full_block_hit_rate = 0;
  // Of requests that find something: tokens of the distinct contexts used since that context was last
  // (itself included), which is the capacity from which on LRU finds it; and the time since. Of several
  // texts that it finds, the one that was used longest ago; pieces that every prompt has do not count.
  int64_t reuses = 0;
  TraceFigure reuse_distance_tokens;
  TraceFigure reuse_distance_s;
  // Of an LRU store of contexts, or of pieces; what a prompt's pieces need to be found is taken as if all of
  // the prompt had been used at once, and with prefix keys a block is found where all before it are.
  std::vector<MissRatioPoint> miss_ratio_curve;
};

// Requests are taken at their arrivals, as if every answer took no time.
TraceStats trace_stats(const Workload& workload);

}  // namespace kvcap
