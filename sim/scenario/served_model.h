// Maps the model name of a server to a catalogue model. Servers use names of Hugging Face, such as
// meta-llama/Llama-3.1-8B-Instruct; instruction tuning does not change the shape.
#pragma once

#include <string>

namespace kvcap {

// Returns the catalogue name; empty if the catalogue lacks the model.
std::string catalogue_model(const std::string& served_name);

}  // namespace kvcap
