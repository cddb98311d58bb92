// Derives one scenario for the nodes of fleet.disaggregation that compute prompts, and one for the nodes that
// decode.
#pragma once

#include "scenario/scenario.h"

namespace kvcap {

// prefill_scenario() returns the scenario of a node that computes prompts; without disaggregation, the
// scenario itself. decode_scenario() returns the scenario of a node that decodes, whose only cache is the
// engine's prefix cache. Both have the parallelism of the node and its part of the machine. decode_scenario()
// REQUIRES: fleet.disaggregation is present.
Scenario prefill_scenario(const Scenario& scenario);
Scenario decode_scenario(const Scenario& scenario);

}  // namespace kvcap
