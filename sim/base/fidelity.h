// Fidelity: the level of detail at which a simulation models a restoration.
#pragma once

#include <cstdint>

#include "base/text/names.h"

namespace kvcap {

// request: one transfer per tier and restoration, a closed-form pipeline, one sleep per run of decode steps.
// layer: each layer's transfer and computation is an activity; the reference, 10-100 times slower.
enum class Fidelity : uint8_t { request, layer };
inline constexpr std::string_view kFidelityNames[] = {"request", "layer"};
constexpr Names names_of(Fidelity) { return kFidelityNames; }

}  // namespace kvcap
