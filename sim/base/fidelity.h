// How finely a simulation resolves a restoration.
#pragma once

#include <cstdint>

#include "base/text/names.h"

namespace kvcap {

// request: one transfer per tier and restoration, closed-form pipeline, decode runs in one sleep.
// layer: every layer's transfer and computation is an activity; the reference, 10-100 times slower.
enum class Fidelity : uint8_t { request, layer };
inline constexpr std::string_view kFidelityNames[] = {"request", "layer"};
constexpr Names names_of(Fidelity) { return kFidelityNames; }

}  // namespace kvcap
