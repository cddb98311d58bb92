// Plots the efficiency of a machine as text: the share of peak_flops over the number of tokens.
#pragma once

#include <string>

#include "spec/hardware_profile.h"

namespace kvcap {

// Returns lines of at most 100 columns: a bar for a wide projection, numbers for a narrow one and for
// attention.
std::string efficiency_plot(const Gpu& gpu);

}  // namespace kvcap
