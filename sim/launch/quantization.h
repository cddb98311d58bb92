// Reads what config.json says of a model's formats and positions, and compares it with what engine flags
// name.
#pragma once

#include <string>
#include <string_view>

#include "spec/model_spec.h"

namespace kvcap {

// Returns the quant_method of a model's config.json, such as "awq"; empty if the config.json has none or
// `model` is a name of the catalogue. REQUIRES: load_model() accepts `model`.
std::string quantization_of(const std::string& model);

// True iff the model's config.json scales its rotary embedding, so that the engine may allow more positions
// than max_position_embeddings. REQUIRES as for quantization_of().
bool scales_positions(const std::string& model);

// True iff the flag's value names the configuration's method or kernels for this method, e.g. awq_marlin for
// awq.
bool is_same_quantization(std::string_view of_config, std::string_view of_flag);

// Returns the format that the name of a checkpoint states, "awq" of "Qwen3-32B-AWQ", if the flag's method
// does not read it; empty otherwise.
std::string contradicted_format(std::string_view model, std::string_view of_flag);

// kPerTokenHead: the flag table's value for formats of --kv-cache-dtype with a scale per token and head.
// per_token_head_bytes() returns their bytes per element: one byte, plus the element's share of the 4-byte
// scale of its head (vllm/v1/kv_cache_interface.py@001cabc).
inline constexpr std::string_view kPerTokenHead = "per_token_head";
double per_token_head_bytes(const ModelSpec& model);

}  // namespace kvcap
