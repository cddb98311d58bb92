// Compares the quantization methods that model configurations and engine flags name.
#pragma once

#include <string>
#include <string_view>

namespace kvcap {

// Returns the quant_method of a config.json, such as "awq"; empty for a name of the catalogue and for a
// config.json without one. REQUIRES: load_model() accepts `model`.
std::string quantization_of(const std::string& model);

// True iff a flag names the method of the configuration, or kernels for it: awq_marlin for awq.
bool is_same_quantization(std::string_view of_config, std::string_view of_flag);

}  // namespace kvcap
