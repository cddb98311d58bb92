// Turns that were rejected, have failed, or whose prompt was truncated. Latencies are those of the others, so
// that good ones say nothing where a machine serves few: who asks for a latency has to say how many may go
// unserved.
#pragma once

#include <string>
#include <string_view>

#include "metrics/result.h"

namespace kvcap {

inline constexpr std::string_view kUnserved[] = {"rejected", "failed", "truncated"};

// The first of them that happened without a bound, on its number or its share; empty where there is none.
// `has_bound` tells of a metric whether it has one.
template <class HasBound>
std::string_view unserved(const RunResult& result, const HasBound& has_bound) {
  for (std::string_view metric : kUnserved) {
    if (result.number(metric) > 0 && !has_bound(metric) && !has_bound(std::string(metric) + "_share"))
      return metric;
  }
  return {};
}

}  // namespace kvcap
