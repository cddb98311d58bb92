// The scenario of an engine as installed, by names of the catalogue: its newest version with a server's
// defaults on these GPUs, its own prefix cache, no tier below it, and the longest sequence that the machine
// holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "scenario/scenario.h"

namespace kvcap {

struct InstalledEngine {
  std::string model, hardware;  // names or paths
  std::string engine = "vllm";  // with its version: "vllm@0.19"
  std::optional<int64_t> gpus;  // by tensor parallelism
};

// Throws InputError.
Scenario installed_scenario(const InstalledEngine& asked);

}  // namespace kvcap
