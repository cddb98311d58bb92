// Unserved turns, i.e. those that were rejected, failed or truncated. Latencies exclude unanswered turns, so
// a machine that serves few turns may have good latencies. A bound on a latency is therefore meaningful only
// together with a bound on unserved turns.
#pragma once

#include <string>
#include <string_view>

#include "metrics/result.h"

namespace kvcap {

inline constexpr std::string_view kUnserved[] = {"rejected", "failed", "truncated"};

// Returns the first kind of unserved turns that occurs in the result and whose number and share have no
// bound; empty if there is none. `has_bound(metric)`: true iff the metric has a bound.
template <class HasBound>
std::string_view unserved(const RunResult& result, const HasBound& has_bound) {
  for (std::string_view metric : kUnserved) {
    if (result.number(metric) > 0 && !has_bound(metric) && !has_bound(std::string(metric) + "_share"))
      return metric;
  }
  return {};
}

}  // namespace kvcap
