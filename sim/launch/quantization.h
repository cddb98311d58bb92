// Quantization methods and KV formats that model configurations and engine flags name.
#pragma once

#include <string>
#include <string_view>

#include "spec/model_spec.h"

namespace kvcap {

// Returns the quant_method of a config.json, such as "awq"; empty for a name of the catalogue and for a
// config.json without one. REQUIRES: load_model() accepts `model`.
std::string quantization_of(const std::string& model);

// True iff a flag names the method of the configuration, or kernels for it: awq_marlin for awq.
bool is_same_quantization(std::string_view of_config, std::string_view of_flag);

// The flag table's value for formats of --kv-cache-dtype with a scale per token and head, and their bytes per
// element: one byte, plus the element's share of the 4-byte scale of its head
// (vllm/v1/kv_cache_interface.py@001cabc).
inline constexpr std::string_view kPerTokenHead = "per_token_head";
double per_token_head_bytes(const ModelSpec& model);

}  // namespace kvcap
