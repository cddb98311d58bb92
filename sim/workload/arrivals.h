// When sessions begin and how long users think: seconds drawn by session and turn, in no order.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

// Arrivals of `count` sessions in seconds, the first at 0, not decreasing. Not for `trace`.
std::vector<double> draw_arrivals(const ArrivalOptions& options, std::size_t count, uint64_t seed);

// Time before turn `turn` (>= 1) of session `session`.
double draw_think_time_s(const ThinkTimeOptions& options, uint64_t seed, uint64_t session, uint64_t turn);

}  // namespace kvcap
