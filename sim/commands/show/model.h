// Describes the sizes of a model: its weights, and the state that it keeps for a context, by group of layers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "spec/model_spec.h"

namespace kvcap {

// Returns the sizes as JSON. "window_bytes" (of full windows) and "recurrent_state_bytes" are those of one
// sequence.
nlohmann::ordered_json sizes_json(const ModelSpec& model);

// Return the sizes as one line for a list, and as lines with the layers of each kind.
std::string sizes_summary(const ModelSpec& model);
std::string sizes_text(const ModelSpec& model);

}  // namespace kvcap
