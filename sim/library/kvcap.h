// kvcap as a library. Scenarios and results are JSON in the formats of the command line (kvcap.scenario/1,
// kvcap.result/1), so that this header stays as it is while the program grows.
//
//   find_package(kvcap REQUIRED)
//   target_link_libraries(mine PRIVATE kvcap::kvcap)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/input_error.h"

namespace kvcap {

// "0.2.0"
std::string version();

// Simulates every replication of a scenario, each in a forked process (SimGrid has one engine a process), and
// returns the result of all of them. `overrides` are "path=value" as --set takes them; relative paths start
// from `folder`. Throws InputError, whose message is one line for the user; std::system_error where the
// machine has no more processes or files, and std::runtime_error where a replication has died. While it runs,
// SIGINT and SIGTERM stop the replications and end in a std::runtime_error, "interrupted".
std::string simulate_scenario(std::string_view scenario_json, const std::vector<std::string>& overrides = {},
                              const std::string& folder = ".");

// The JSON Schema of a scenario, for editors and checkers.
std::string scenario_schema();

}  // namespace kvcap
