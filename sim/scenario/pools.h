// Pools: the nodes of fleet.disaggregation that compute prompts, and those that decode, each as a scenario
// with its own parallelism and its part of the machine.
#pragma once

#include "scenario/scenario.h"

namespace kvcap {

// Return the scenario of the nodes that compute prompts (without disaggregation, the scenario itself), and
// that of the nodes that decode and have no cache but the engine's prefix cache: a replica's parallelism and
// its part of the machine included. decode_scenario() REQUIRES: fleet.disaggregation is present.
Scenario prefill_scenario(const Scenario& scenario);
Scenario decode_scenario(const Scenario& scenario);

}  // namespace kvcap
