// Percentiles as means. "The 99th percentile of the TTFT is at most 500 ms" says that at most 1 % of the
// turns take longer than 500 ms. That share is a mean over turns: the mean over runs is the share of all
// their turns together. A percentile of a short run is not: rare congestion that most short runs do not see
// moves the 99th percentile of the long run, and hardly the mean of theirs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "metrics/result.h"

namespace kvcap {

// The share of turns that a bound on the metric lets exceed it: 0.01 of "p99_ttft_ms", 0.5 of
// "median_tpot_ms". None of other metrics, those of single gaps between tokens (itl) among them.
std::optional<double> allowed_share(std::string_view metric);

// Of the measured turns that have the latency of a percentile, those beyond `bound_ms`, and failed ones; NaN
// without any.
// REQUIRES: allowed_share(metric).
double share_beyond(std::span<const TurnRecord> turns, std::string_view metric, double bound_ms);

// What results call it: "beyond_share.p99_ttft_ms".
std::string beyond_share_name(std::string_view metric);

}  // namespace kvcap
