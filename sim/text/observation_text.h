// An observed server's figures as a table for people and as JSON.
#pragma once

#include <string>

#include "observe/observation.h"

namespace kvcap {

std::string observation_table(const Observation& observation);
// Returns "schema": "kvcap.observation/1".
std::string observation_json(const Observation& observation);

}  // namespace kvcap
