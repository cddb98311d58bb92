// EngineVersion: which vLLM a scenario means. Defaults and memory that moved between versions follow it.
#pragma once

#include <optional>
#include <string_view>

namespace kvcap {

// "0.15.1" is {0, 15}: what follows the second number is read over.
struct EngineVersion {
  int major = 0, minor = 0;
  auto operator<=>(const EngineVersion&) const = default;
};
// The newest vLLM whose defaults, memory and host times were looked at; a newer one is taken for it.
inline constexpr EngineVersion kNewestVllm{0, 30};
// The first that has only the engine that is simulated here (V1) where it serves the model; older ones are
// taken for it.
inline constexpr EngineVersion kOldestVllm{0, 9};

// Empty where the text is no version.
std::optional<EngineVersion> parse_engine_version(std::string_view text);

}  // namespace kvcap
