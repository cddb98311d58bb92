// Scenarios drawn at random over everything that the schema offers and that needs no file: models and servers
// of the catalogue and changed ones, every policy, every restoration of every form under every placement,
// sources, arrivals, serving settings, fleets and their failures. Small ones: some ten sessions.
#pragma once

#include <cstdint>
#include <string>

#include "policy/options.h"
#include "workload/workload.h"

namespace kvcap::soak {

// Number N is always the same scenario file. Nearly all of them can run; some are refused, as a user's would
// be, for what only the loader or the machine knows.
std::string scenario_json(uint64_t number);

// Gives the workload of scenario N what no generated source has: documents that sessions share and grow,
// turns that branch, pieces in every turn. Always the same of the same number.
void vary(Workload& workload, const PolicyOptions& policy, uint64_t number);

}  // namespace kvcap::soak
