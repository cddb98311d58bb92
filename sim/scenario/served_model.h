// Which model of the catalogue a server means: it calls a model by its name on Hugging Face, such as
// meta-llama/Llama-3.1-8B-Instruct. Instruction tuning changes no shape.
#pragma once

#include <string>

namespace kvcap {

// The name in the catalogue; empty: there is none.
std::string catalogue_model(const std::string& served_name);

}  // namespace kvcap
