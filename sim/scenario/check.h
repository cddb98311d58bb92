// Checks that the fields of a model, profile or scenario fit together, after each field has been read on its
// own.
#pragma once

#include <string_view>

#include "base/places.h"
#include "scenario/scenario.h"

namespace kvcap {

// Check one model or profile. `path`: its path in the document; "" if it is the whole document. Throw
// InputError.
void check_model(const ModelSpec& model, const Places& places, std::string_view path);
void check_hardware(const HardwareProfile& hardware, const Places& places, std::string_view path);

// Checks the whole scenario, including its model, hardware, speculation and disaggregation. Throws
// InputError; may add notes about allowed but unusual settings.
void check_scenario(Scenario& scenario, const Places& places);

}  // namespace kvcap
