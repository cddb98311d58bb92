// Engines: what an engine does by itself, as presets of ServingOptions. A preset is a set of defaults; what a
// scenario gives takes its place. `vllm` are the defaults of ServingOptions.
//
// What they were read from stands with each row; the values are those of the stored versions of 2025 and
// 2026.
#pragma once

#include <span>
#include <string_view>

#include "serving/options.h"
#include "spec/engine_version.h"
#include "spec/hardware_profile.h"
#include "spec/model_spec.h"

namespace kvcap {

struct EngineRow {
  EngineKind engine;
  std::string_view name;
  std::string_view summary;     // one line
  std::string_view sources;     // file@commit
  std::string_view leaves_out;  // of the real engine
  void (*preset)(ServingOptions& options);
};

std::span<const EngineRow> engine_table();  // in the order of the enumeration
const EngineRow& engine_row(EngineKind engine);

// The options of an engine of which nothing is given.
ServingOptions options_of(EngineKind engine);

// How requests that do not say it draw their tokens: as the model's publisher proposes; TensorRT-LLM takes
// the most likely token.
std::optional<Sampling> default_sampling(EngineKind engine, const ModelSpec& model);
SamplerKernel sampler_of(EngineKind engine, EngineVersion version);

// What vLLM decides by its version and by the GPU where nobody says otherwise.
struct VllmDefaults {
  int64_t max_num_batched_tokens = 2048;
  double gpu_memory_utilization = 0.9;
  bool async_scheduling = true;
  OneTokenSlices one_token_slices = OneTokenSlices::decode;
  AttentionBackend attention_backend = AttentionBackend::flash_attn;
};
VllmDefaults vllm_defaults(EngineVersion version, const Gpu& gpu);

// FlashAttention and vLLM's Triton kernel take prompts and decodes in one call, the others in two.
MixedAttention mixed_attention_of(AttentionBackend backend);

}  // namespace kvcap
