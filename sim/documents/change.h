// Change: one figure of a report before and after, with its interval.
#pragma once

#include <string>
#include <vector>

namespace kvcap {

struct Change {
  std::string input;    // name of the input on the side after
  std::string setting;  // a setting, a policy or a check
  std::string metric;
  std::string what, unit;  // title and unit for readers: "p99 TTFT", "ms"; values are in this unit
  double before = 0, after = 0;
  // Half-width of the 95 % interval of after - before, of paired runs where both served the same workload; 0:
  // both are exact; NaN: one run each.
  double half_width = 0;

  // Returns "new, hcache"; once where both are the same.
  std::string place() const { return input == setting ? input : input + ", " + setting; }
  double difference() const { return after - before; }
  bool is_same() const;
  bool can_tell() const;  // true iff the difference exceeds its half-width, or there is no interval
};

// Returns the first `most` items: "a, b and 3 more".
std::string list_text(const std::vector<std::string>& items, std::size_t most = 8);

}  // namespace kvcap
