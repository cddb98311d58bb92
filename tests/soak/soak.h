// The soak runs random scenarios, each in its own processes with every invariant checked, and checks the
// results against laws that hold for any run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "metrics/result.h"

namespace kvcap::soak {

struct Finding {
  uint64_t number = 0;
  std::string what;      // one line
  std::string scenario;  // the scenario file
};

struct Tally {
  int64_t ran = 0;
  int64_t refused = 0;  // by the loader or the machine, with one line for the user
  int64_t turns = 0;
  int64_t found = 0;
};

// Returns a law that the result breaks, on one line; empty if none.
std::string broken_law(const RunResult& result);

// Runs scenarios `first` to `first + count - 1`. `on_refusal` may be empty.
Tally soak(uint64_t first, uint64_t count, const std::function<void(const Finding&)>& on_finding,
           const std::function<void(const Finding&)>& on_refusal = {});

}  // namespace kvcap::soak
