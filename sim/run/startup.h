// What an engine refuses when it starts: settings with which a server would end before its first request.
#pragma once

#include <cstdint>
#include <string>

#include "cost/gpu_memory.h"
#include "scenario/scenario.h"

namespace kvcap {

// Tokens of the longest sequence of which one fits into `kv_capacity_tokens`; 0: none does.
int64_t longest_sequence(const Scenario& scenario, int64_t kv_capacity_tokens);

// What the engine would say, what is allowed, and the way out; empty where it starts. vLLM
// (core/kv_cache_utils, config/scheduler) refuses a serving.max_model_len of which not one sequence fits, and
// fewer tokens a step than sequences or, without chunked prefill, than tokens of the longest; the others
// shorten what they are asked for. Not asked where serving.allow_impossible is set.
std::string refused_at_start(const Scenario& scenario, int64_t kv_capacity_tokens);

// Why no KV is left: the share of the memory, and what takes it.
std::string no_room_for_kv(const Scenario& scenario, const GpuMemory& memory);

}  // namespace kvcap
