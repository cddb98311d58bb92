// Plots a GPU's efficiency as text: the share of peak_flops that it reaches, by the number of tokens.
#pragma once

#include <string>

#include "spec/hardware_profile.h"

namespace kvcap {

// Returns lines of at most 100 columns, with numbers for a wide projection, a narrow one and attention, and a
// bar for the wide projection.
std::string efficiency_plot(const Gpu& gpu);

}  // namespace kvcap
