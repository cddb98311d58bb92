// What turns amount to: means, quantiles and rates of those within some bounds, simulated or recorded.
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
  double from_s = 0;  // rates count from here
};

// Those that were answered after the warm-up, within from_s, to_s (arrival), answered_by_s, from_session and
// to_session, where given.
Turns turns_within(std::span<const TurnRecord> all, const std::map<std::string, double>& bounds);

// Turns of a log with the latencies that it says.
std::vector<TurnRecord> recorded_turns(const Source& source);

// `name`: mean, median, p90 or p99 of ttft_ms, tpot_ms or e2el_ms ("mean_ttft_ms"), or a row of kSums in the
// source. `group`: what stands before it in messages. Throws InputError.
double turns_figure(const Turns& turns, const std::string& group, const std::string& name);

// Pearson's correlation of a latency ("ttft") over all turns. NaN where there are none.
double turns_correlation(std::span<const TurnRecord> simulated, std::span<const TurnRecord> recorded,
                         const std::string& latency);

// Throws InputError: what is no name of a figure, and the nearest that is.
[[noreturn]] void refuse_figure(const std::string& name, std::span<const std::string_view> known);

}  // namespace kvcap
