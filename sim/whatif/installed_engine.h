// Builds the scenario of an engine as installed, i.e. started without options: its newest version with the
// defaults that its server has on these GPUs, its own prefix cache without lower tiers, and the longest
// sequence that fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "scenario/scenario.h"

namespace kvcap {

struct InstalledEngine {
  std::string model, hardware;  // names or paths
  std::string engine = "vllm";  // may include a version: "vllm@0.19"
  std::optional<int64_t> gpus;  // tensor parallel size
};

// Returns the scenario. Throws InputError for unknown names.
Scenario installed_scenario(const InstalledEngine& asked);

}  // namespace kvcap
