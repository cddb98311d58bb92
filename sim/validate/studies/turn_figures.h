// Figures of turns: means, quantiles and rates of the simulated or recorded turns within given bounds.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/result.h"
#include "workload/source.h"

namespace kvcap {

struct Turns {
  std::vector<TurnRecord> list;
  double from_s = 0;  // start of the period for rates
};

// Returns the turns after the warm-up that were answered and lie within the bounds. The keys of `bounds` are
// from_s and to_s (arrival times), answered_by_s, from_session, to_session and node.
Turns turns_within(std::span<const TurnRecord> all, const std::map<std::string, double>& bounds);

// Returns the turns of a log with their recorded latencies.
std::vector<TurnRecord> recorded_turns(const Source& source);

// Returns a figure of the turns. `name`: a mean, median, p90 or p99 of ttft_ms, tpot_ms or e2el_ms, such as
// "mean_ttft_ms", or the name of a row of kSums in turn_figures.cpp. `group`: prefix of the name in error
// messages. Throws InputError for an unknown name.
double turns_figure(const Turns& turns, const std::string& group, const std::string& name);

// Returns Pearson's correlation, over all turns, of the simulated and the recorded values of a latency
// ("ttft"); NaN without turns.
double turns_correlation(std::span<const TurnRecord> simulated, std::span<const TurnRecord> recorded,
                         const std::string& latency);

// Throws InputError for an unknown figure, and suggests the nearest known name.
[[noreturn]] void refuse_figure(const std::string& name, std::span<const std::string_view> known);

}  // namespace kvcap
