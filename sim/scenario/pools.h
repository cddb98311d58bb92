// Pools: the nodes of fleet.disaggregation that compute prompts, and those that decode, each as a scenario
// with its own parallelism and its part of the machine.
#pragma once

#include "scenario/scenario.h"

namespace kvcap {

// prefill_scenario() returns the scenario of the nodes that compute prompts; without disaggregation, the
// scenario itself. decode_scenario() returns the scenario of the nodes that decode, whose only cache is the
// engine's prefix cache. Both contain the parallelism of such a node and its part of the machine.
// decode_scenario() REQUIRES: fleet.disaggregation is present.
Scenario prefill_scenario(const Scenario& scenario);
Scenario decode_scenario(const Scenario& scenario);

}  // namespace kvcap
