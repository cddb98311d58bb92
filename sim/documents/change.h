// Change: one number of a report before and after a change, with the interval of the difference.
#pragma once

#include <string>
#include <vector>

namespace kvcap {

struct Change {
  std::string input;    // name of the input on the "after" side
  std::string setting;  // name of a setting, a policy or a check
  std::string metric;
  std::string what, unit;  // title and unit for readers: "p99 TTFT", "ms"; values are in this unit
  double before = 0, after = 0;
  // Half the width of the 95 % interval of after - before; from paired runs if both sides served the same
  // workload. 0: both values are exact. NaN: each side has a single run.
  double half_width = 0;

  // Returns the input and the setting, "new, hcache", or a single name if both are equal.
  std::string place() const { return input == setting ? input : input + ", " + setting; }
  double difference() const { return after - before; }
  bool is_same() const;
  bool can_tell() const;  // true iff the difference exceeds its half-width, or there is no interval
};

// Returns the items as a list that names only the first `most` and counts the rest: "a, b and 3 more".
std::string list_text(const std::vector<std::string>& items, std::size_t most = 8);

}  // namespace kvcap
