// EngineVersion: the vLLM version of a scenario. It selects the defaults and memory sizes that changed
// between versions.
#pragma once

#include <optional>
#include <string_view>

namespace kvcap {

// "0.15.1" is {0, 15}; the rest is ignored.
struct EngineVersion {
  int major = 0, minor = 0;
  auto operator<=>(const EngineVersion&) const = default;
};
// Newest vLLM whose defaults, memory and host times were examined; newer versions are treated like this one.
inline constexpr EngineVersion kNewestVllm{0, 30};
// Oldest vLLM that runs its models only on the simulated engine (V1); older versions are treated like this
// one.
inline constexpr EngineVersion kOldestVllm{0, 9};

// Returns nullopt if the text is not a version.
std::optional<EngineVersion> parse_engine_version(std::string_view text);

}  // namespace kvcap
