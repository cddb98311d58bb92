// The C++ API of kvcap. Scenarios and results are JSON in the formats of the command line (kvcap.scenario/1,
// kvcap.result/1), so that this header stays stable.
//
//   find_package(kvcap REQUIRED)
//   target_link_libraries(mine PRIVATE kvcap::kvcap)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/input_error.h"

namespace kvcap {

// Returns the version: "0.2.0".
std::string version();

// Simulates every replication of a scenario, each in a forked process (SimGrid allows one engine per
// process), and returns their combined result. `overrides` are "path=value" as for --set; relative paths
// start from `folder`. Throws InputError with a one-line message for the user, std::system_error if no more
// processes or files can be created, and std::runtime_error if the process of a replication dies. During the
// call, SIGINT and SIGTERM stop the replications, and a std::runtime_error with the text "interrupted" is
// thrown.
std::string simulate_scenario(std::string_view scenario_json, const std::vector<std::string>& overrides = {},
                              const std::string& folder = ".");

// Returns the JSON Schema of a scenario file, for editors and validators.
std::string scenario_schema();

}  // namespace kvcap
