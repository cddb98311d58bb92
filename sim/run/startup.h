// Checks at the start of an engine: settings with which a server would exit before its first request.
#pragma once

#include <cstdint>
#include <string>

#include "cost/gpu_memory.h"
#include "scenario/scenario.h"

namespace kvcap {

// Returns the length in tokens of the longest sequence that fits into `kv_capacity_tokens`; 0: none fits.
int64_t longest_sequence(const Scenario& scenario, int64_t kv_capacity_tokens);

// Returns why the engine would not start, the allowed values and the way out; empty if it starts. vLLM
// (core/kv_cache_utils, config/scheduler) refuses a serving.max_model_len of which no sequence fits, and
// fewer tokens per step than sequences or, without chunked prefill, than tokens of the longest sequence;
// other engines reduce the settings. Not checked with serving.allow_impossible.
std::string refused_at_start(const Scenario& scenario, int64_t kv_capacity_tokens);

// Returns why no memory is left for KV: the share of the memory, and its uses.
std::string no_room_for_kv(const Scenario& scenario, const GpuMemory& memory);

}  // namespace kvcap
