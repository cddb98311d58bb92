// Expresses targets on percentiles as targets on means. "The 99th percentile of the TTFT is at most 500 ms"
// means that at most 1 % of the turns take longer than 500 ms. That share is a mean over turns, so its mean
// over several runs is the share over all their turns. Percentiles do not average like this: rare congestion,
// which most short runs do not contain, raises the 99th percentile of a long run, but hardly the mean of the
// short runs' percentiles.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "metrics/result.h"

namespace kvcap {

// Returns the share of turns that may exceed a bound on the metric: 0.01 for "p99_ttft_ms", 0.5 for
// "median_tpot_ms". Returns nothing for other metrics, including those of single gaps between tokens (itl).
std::optional<double> allowed_share(std::string_view metric);

// Returns the share of the measured turns with this latency that exceed `bound_ms` or failed; NaN without
// turns. REQUIRES: allowed_share(metric).
double share_beyond(std::span<const TurnRecord> turns, std::string_view metric, double bound_ms);

// Returns the name of that share in results: "beyond_share.p99_ttft_ms".
std::string beyond_share_name(std::string_view metric);

}  // namespace kvcap
