// Maps the model name that a server reports to a catalogue model. Servers use Hugging Face names such as
// meta-llama/Llama-3.1-8B-Instruct. Suffixes such as -Instruct are ignored, because tuning does not change
// the shape.
#pragma once

#include <string>

namespace kvcap {

// Returns the catalogue name; empty if the catalogue lacks the model.
std::string catalogue_model(const std::string& served_name);

}  // namespace kvcap
