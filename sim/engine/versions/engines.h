// Engines: presets of ServingOptions that describe the behaviour of serving engines. A preset is a set of
// defaults that a scenario may override. `vllm` has the defaults of ServingOptions.
//
// Each row names its sources; the values are those of versions from 2025 and 2026.
#pragma once

#include <span>
#include <string_view>

#include "engine/options.h"
#include "spec/engine_version.h"
#include "spec/hardware_profile.h"
#include "spec/model_spec.h"

namespace kvcap {

struct EngineRow {
  EngineKind engine;
  std::string_view name;
  std::string_view summary;     // one line
  std::string_view sources;     // file@commit
  std::string_view leaves_out;  // features of the real engine that are not modelled
  void (*preset)(ServingOptions& options);
};

std::span<const EngineRow> engine_table();  // in the order of the enumeration
const EngineRow& engine_row(EngineKind engine);

// Returns the engine's default options.
ServingOptions options_of(EngineKind engine);

// Returns how an engine samples tokens if a request does not specify it: as the model's publisher recommends,
// except that TensorRT-LLM samples greedily.
std::optional<Sampling> default_sampling(EngineKind engine, const ModelSpec& model);
SamplerKernel sampler_of(EngineKind engine, EngineVersion version);

// vLLM's defaults that depend on its version and on the GPU. A GPU is large if it has at least
// kVllmLargeGpu_gib of memory and is not an A100.
inline constexpr double kVllmLargeGpu_gib = 70;
struct VllmDefaults {
  int64_t max_num_seqs = 256;  // when started by the API server
  int64_t max_num_batched_tokens = 2048;
  double gpu_memory_utilization = 0.9;
  bool async_scheduling = true;
  OneTokenSlices one_token_slices = OneTokenSlices::decode;
  AttentionBackend attention_backend = AttentionBackend::flash_attn;
};
VllmDefaults vllm_defaults(EngineVersion version, const Gpu& gpu);

// Returns the options with which the engine's newest API server starts. Scenarios use options_of() instead,
// so that max_num_seqs does not depend on the GPU.
ServingOptions server_options(EngineKind engine, const Gpu& gpu);

// FlashAttention and vLLM's Triton kernel process the prefills and decodes of a step in one call, other
// backends in two.
MixedAttention mixed_attention_of(AttentionBackend backend);

}  // namespace kvcap
