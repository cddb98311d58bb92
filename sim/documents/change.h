// Change: one figure of a report, before and after.
#pragma once

#include <string>
#include <vector>

namespace kvcap {

struct Change {
  std::string input;    // of the side after
  std::string setting;  // a setting, a policy, a check
  std::string metric;
  std::string what, unit;  // as a person reads the metric: "p99 TTFT", "ms"; values are in this unit
  double before = 0, after = 0;
  // Of after - before at 95 %, as if both were independent; 0: both are exact, NaN: a single run each.
  double half_width = 0;

  double difference() const { return after - before; }
  bool is_same() const;
  bool can_tell() const;  // beyond the interval; true where there is none
};

// "a, b and 3 more"
std::string list_text(const std::vector<std::string>& items, std::size_t most = 8);

}  // namespace kvcap
