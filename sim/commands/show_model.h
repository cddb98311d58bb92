// What a model keeps of a context, group by group of its layers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "spec/model_spec.h"

namespace kvcap {

// "parameters", "kv_bytes_per_token", "window_bytes" (of full windows) and "recurrent_state_bytes" of a
// sequence.
nlohmann::ordered_json sizes_json(const ModelSpec& model);

// The same in a line of a list, and as lines with the layers of each kind.
std::string sizes_summary(const ModelSpec& model);
std::string sizes_text(const ModelSpec& model);

}  // namespace kvcap
