// The memory of a scenario's engine: what it leaves for KV, and settings with which a server would exit
// before its first request.
#pragma once

#include <cstdint>
#include <string>

#include "cost/gpu_memory.h"
#include "cost/kv_layers.h"
#include "scenario/scenario.h"

namespace kvcap {

// Returns the model for the KV capacity, for a scenario that does not give the capacity.
KvCapacityModel kv_capacity_model(const Scenario& scenario);
// REQUIRES: serving.engine_version is valid, which loading checks.
EngineSettings engine_settings(const Scenario& scenario);
// Returns the memory of the drafter of speculative decoding per GPU.
DraftMemory draft_memory(const Scenario& scenario);
// Returns the memory of one GPU and the KV capacity that it leaves; 0 tokens if the weights leave no room.
GpuMemory planned_memory(const Scenario& scenario);
// Returns the given or derived KV capacity of an engine, including a tier in HBM.
int64_t kv_capacity_tokens(const Scenario& scenario);
// Returns the layout of blocks in GPU memory.
KvLayout kv_layout(const Scenario& scenario);
// Returns a capacity that always suffices for `sequences` sequences of `tokens` tokens.
int64_t roomy_kv_capacity_tokens(const Scenario& scenario, int64_t sequences, int64_t tokens);

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
