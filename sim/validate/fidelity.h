// The two fidelities beside each other: `request`, which a run has unless told otherwise, against `layer`,
// which moves and computes every layer.
#pragma once

#include <vector>

#include "validate/check.h"

namespace kvcap {

// Mean and p99 TTFT and mean end to end over a designed set: how a context comes back, how fast the link is, how
// loaded the machine, from an empty one to one that just keeps up. `quick`: shorter workloads.
std::vector<Check> fidelity_checks(bool quick);

}  // namespace kvcap
