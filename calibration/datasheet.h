// What vendors and serving engines state of GPUs, found by the name that the driver gives.
#pragma once

#include <optional>
#include <string_view>

namespace kvcap::calibration {

// Whether `part`, one word or several, stands in `name` as whole words: "A40" is in "NVIDIA A40" and in
// "NVIDIA A40-48Q", and not in "NVIDIA RTX A4000".
bool has_words(std::string_view name, std::string_view part);

// Dense half-precision peaks with float32 accumulation, as the vendor's datasheets print them.
std::optional<double> datasheet_flops(std::string_view gpu_name);

// What serving engines' kernels reach of the vendor's peak on whole prompts, fitted with the wave model
// (hwprofiles/README.md).
std::optional<double> engine_efficiency(std::string_view gpu_name);

}  // namespace kvcap::calibration
