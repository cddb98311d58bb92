// Checks of fields against each other, after each has been read on its own.
#pragma once

#include <string_view>

#include "base/places.h"
#include "scenario/scenario.h"

namespace kvcap {

// `path`: where the model or profile lies in the document, "" for a file of its own.
void check_model(const ModelSpec& model, const Places& places, std::string_view path);
void check_hardware(const HardwareProfile& hardware, const Places& places, std::string_view path);

// serving.speculative, if it is there.
void check_speculative(Scenario& scenario, const Places& places);

// fleet.disaggregation, if it is there.
void check_disaggregation(const Scenario& scenario, const Places& places);

// Includes those above. May add notes about what is allowed and yet worth knowing.
void check_scenario(Scenario& scenario, const Places& places);

}  // namespace kvcap
