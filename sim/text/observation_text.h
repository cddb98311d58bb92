// Formats the summary of a server's metrics (kvcap observe) as a table and as JSON.
#pragma once

#include <string>

#include "observe/observation.h"

namespace kvcap {

std::string observation_table(const Observation& observation);
// Returns a kvcap.observation/1 document.
std::string observation_json(const Observation& observation);

}  // namespace kvcap
