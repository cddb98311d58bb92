// Generates the policies of random scenarios (scenario_generator.h).
#pragma once

#include <cstdint>

#include "scenario/json.h"
#include "scenario/scenario.h"
#include "soak/dice.h"

namespace kvcap::soak {

// Returns a policy for the model and hardware of `known`, with a KV capacity of `kv_tokens`. May limit the
// model length in `serving` to what a static graph can reserve.
Json policy_json(Dice& dice, const Scenario& known, int64_t kv_tokens, Json& serving);

}  // namespace kvcap::soak
