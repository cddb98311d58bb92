// The memory of a scenario's engine: how much it leaves for KV, and which settings would make a server exit
// before its first request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cost/gpu_memory.h"
#include "cost/kv_layers.h"
#include "scenario/scenario.h"

namespace kvcap {

// Returns how the KV capacity is derived if the scenario does not give it.
KvCapacityModel kv_capacity_model(const Scenario& scenario);
// REQUIRES: serving.engine_version is valid, which loading checks.
EngineSettings engine_settings(const Scenario& scenario);
// Returns the memory per GPU of the drafter of speculative decoding.
DraftMemory draft_memory(const Scenario& scenario);
// Returns how one GPU's memory is used, and the KV capacity that is left; 0 tokens if the weights leave no
// room.
GpuMemory planned_memory(const Scenario& scenario);
// Returns the engine's KV capacity, given or derived, including that of a tier in HBM.
int64_t kv_capacity_tokens(const Scenario& scenario);
// Returns the layout of blocks in GPU memory.
KvLayout kv_layout(const Scenario& scenario);
// Returns a KV capacity that certainly suffices for `sequences` sequences of `tokens` tokens.
int64_t roomy_kv_capacity_tokens(const Scenario& scenario, int64_t sequences, int64_t tokens);

// Returns the length in tokens of the longest sequence that fits `kv_capacity_tokens`; 0 if none fits.
int64_t longest_sequence(const Scenario& scenario, int64_t kv_capacity_tokens);

// Returns the longest sequence that the model allows and the machine holds; 0 if none fits. `kv_tokens`: the
// KV capacity if it is not the planned one.
int64_t longest_that_fits(const Scenario& scenario, std::optional<int64_t> kv_tokens);

// Returns why the engine would not start, with the allowed values and a remedy; empty if it starts. vLLM
// (core/kv_cache_utils, config/scheduler) refuses a serving.max_model_len if no such sequence fits. It also
// refuses fewer tokens per step than sequences or, without chunked prefill, than serving.max_model_len. Other
// engines reduce the settings. Not checked with serving.allow_impossible.
std::string refused_at_start(const Scenario& scenario, int64_t kv_capacity_tokens);

// Returns why no memory is left for KV: the engine's share of the memory, and what uses it.
std::string no_room_for_kv(const Scenario& scenario, const GpuMemory& memory);

}  // namespace kvcap
