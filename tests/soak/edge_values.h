// Scenarios of few turns with some numbers at or near the edges of what their fields allow. Such a scenario
// is refused with one line, or its run obeys every law that the soak knows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::soak {

// The first two bytes choose a scenario of the generator, each three after them a field of the table of
// fields and a value for it. Always the same scenario of the same bytes.
std::string edge_scenario(std::string_view bytes);

// Bytes drawn at random; number N is always the same.
std::string edge_bytes(uint64_t number);

// The changes that the bytes make, in one line.
std::string edge_changes(std::string_view bytes);

// Runs each scenario in a process of its own.
struct EdgeFinding {
  std::string bytes;  // with as few changes as show it
  std::string what;
};
struct EdgeTally {
  int64_t ran = 0;
  int64_t refused = 0;  // with one line for the user
  int64_t skipped = 0;  // would take more steps, blocks, layers or nodes than the budget allows
  std::vector<EdgeFinding> findings;
};
struct EdgeOptions {
  int at_once = 0;             // processes; 0: one a core
  bool reduces = true;         // findings to as few changes as show them
  void (*at_end)() = nullptr;  // called in each process before it ends
};
EdgeTally run_edges(const std::vector<std::string>& all_bytes, const EdgeOptions& options = {});

}  // namespace kvcap::soak
