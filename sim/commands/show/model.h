// Sizes of the state that a model keeps for a context, by group of layers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "spec/model_spec.h"

namespace kvcap {

// Returns "parameters", "kv_bytes_per_token", "window_bytes" (of full windows) and "recurrent_state_bytes"
// per sequence.
nlohmann::ordered_json sizes_json(const ModelSpec& model);

// Sizes as one line for a list, and as lines with the layers of each kind.
std::string sizes_summary(const ModelSpec& model);
std::string sizes_text(const ModelSpec& model);

}  // namespace kvcap
