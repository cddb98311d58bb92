// Methods of quantisation as configurations of models and flags of engines name them.
#pragma once

#include <string>
#include <string_view>

namespace kvcap {

// "awq" of a config.json whose quantization_config says so; empty for a name of the catalogue, and where it
// says none. REQUIRES: load_model() reads it.
std::string quantization_of(const std::string& model);

// Whether a flag names the method of the configuration, or kernels for it: awq_marlin for awq.
bool is_same_quantization(std::string_view of_config, std::string_view of_flag);

}  // namespace kvcap
