// Short scenarios with some numbers at or near the limits of their fields. Such a scenario must be refused
// with one line, or its run must obey every law of the soak.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::soak {

// Returns the scenario that the bytes encode. The first two bytes choose a scenario of the generator; each
// further three choose a field of the field table and a value. Deterministic.
std::string edge_scenario(std::string_view bytes);

// Returns random bytes, determined by `number`.
std::string edge_bytes(uint64_t number);

// Returns the changes that the bytes encode, on one line.
std::string edge_changes(std::string_view bytes);

// Result of the runs of run_edges(), which runs each scenario in its own process.
struct EdgeFinding {
  std::string bytes;  // reduced to the changes that are needed
  std::string what;
};
struct EdgeTally {
  int64_t ran = 0;
  int64_t refused = 0;  // with one line for the user
  int64_t skipped = 0;  // would need more steps, blocks, layers or nodes than the budget
  std::vector<EdgeFinding> findings;
};
struct EdgeOptions {
  int at_once = 0;             // concurrent processes; 0: one per core
  bool reduces = true;         // reduces findings to the changes that they need
  void (*at_end)() = nullptr;  // called in each process before it ends
};
EdgeTally run_edges(const std::vector<std::string>& all_bytes, const EdgeOptions& options = {});

}  // namespace kvcap::soak
