// Writes the curve of a capacity: times and goodput over the load.
#pragma once

#include <string>
#include <vector>

#include "metrics/quantity.h"
#include "plan/capacity.h"

namespace kvcap {

struct CapacityColumn {
  std::string metric, title;
  Unit unit;
  bool is_alarm = false;  // shown only if it is not 0
  std::string over{};     // the metric that it is divided by; "": none
};
// Returns the columns of a curve whose targets are on these metrics. A target on another percentile takes the
// place of the 99th.
std::vector<CapacityColumn> capacity_columns(const std::vector<std::string>& targets);

// Returns one row per load: metrics, a bar for the requests served, and the targets missed.
std::string curve_text(const CapacityQuestion& question, const CapacityAnswer& answer);

}  // namespace kvcap
