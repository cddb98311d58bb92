// Generates random small scenarios (about ten sessions) over everything in the schema that needs no file:
// models and servers of the catalogue and variants of them, every policy, every restoration of every form
// under every placement, sources, arrivals, serving settings, fleets and their failures.
#pragma once

#include <cstdint>
#include <string>

#include "policy/options.h"
#include "workload/workload.h"

namespace kvcap::soak {

// Returns scenario file `number`, deterministically. Most of them run; some are refused for reasons that only
// the loader or the machine can detect.
std::string scenario_json(uint64_t number);

// Adds to the workload of scenario `number` what no generated source has: documents that sessions share and
// extend, turns that branch, pieces in every turn. Deterministic.
void vary(Workload& workload, const PolicyOptions& policy, uint64_t number);

}  // namespace kvcap::soak
