// The length at which generated coding agents compact their prompts (workload.source.max_prompt_tokens).
#pragma once

#include <cstdint>

namespace kvcap {

// The smallest allowed limit: tools, system prompt and the first question have to fit.
inline constexpr int64_t kLeastAgentPrompt_tokens = 32768;

// Returns the limit that leaves room in a window for the longest answer of traces/agents.json.
int64_t agent_prompt_limit(int64_t window_tokens);

}  // namespace kvcap
