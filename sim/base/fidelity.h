// Fidelity: the level of detail at which a simulation models a restoration.
#pragma once

#include <cstdint>

#include "base/text/names.h"

namespace kvcap {

// request: each restoration makes one transfer per tier, its pipeline is computed in closed form, and a run
// of decode steps is one sleep.
// layer: the transfer and the computation of each layer are separate activities. This is the reference; it is
// 10-100 times slower.
enum class Fidelity : uint8_t { request, layer };
inline constexpr std::string_view kFidelityNames[] = {"request", "layer"};
constexpr Names names_of(Fidelity) { return kFidelityNames; }

}  // namespace kvcap
