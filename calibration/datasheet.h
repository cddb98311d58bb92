// Datasheet peaks of GPUs and efficiencies of serving engines, looked up by the GPU name that the driver
// reports.
#pragma once

#include <optional>
#include <string_view>

namespace kvcap::calibration {

// True iff `name` contains `part`, one or more words, as whole words: "NVIDIA A40" and "NVIDIA A40-48Q"
// contain "A40", "NVIDIA RTX A4000" does not.
bool has_words(std::string_view name, std::string_view part);

// Returns the dense half-precision peak with float32 accumulation from the vendor's datasheet, in FLOP/s.
std::optional<double> datasheet_flops(std::string_view gpu_name);

// Returns the share of the datasheet's peak that kernels of serving engines reach on whole prompts, fitted
// with the wave model (hwprofiles/efficiency.md).
std::optional<double> engine_efficiency(std::string_view gpu_name);

}  // namespace kvcap::calibration
