// Writes the curve of a capacity search: latencies and goodput by load.
#pragma once

#include <string>
#include <vector>

#include "metrics/quantity.h"
#include "plan/capacity.h"

namespace kvcap {

struct CapacityColumn {
  std::string metric, title;
  Unit unit;
  bool is_alarm = false;  // shown only if some value is not 0
  std::string over{};     // the metric to divide by; "": none
};
// Returns the columns of a curve whose targets are on these metrics. A target on another percentile replaces
// the column of the 99th percentile.
std::vector<CapacityColumn> capacity_columns(const std::vector<std::string>& targets);

// Returns one row per load: metrics, a bar for the goodput, and whether targets are missed.
std::string curve_text(const CapacityQuestion& question, const CapacityAnswer& answer);

}  // namespace kvcap
