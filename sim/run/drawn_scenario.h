// Draws scenarios on plausible machines (cost/drawn_machine.h): errors of host times and of derived KV
// capacities are drawn in addition to the profile's errors. Also lists the features of a scenario that no
// interval covers because nothing was measured for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cost/drawn_machine.h"
#include "scenario/scenario.h"

namespace kvcap {

// True iff the regime's error affects the scenario's runs.
bool uses_regime(const Scenario& scenario, std::string_view regime);

// Returns the scenario with these errors applied to its hardware, host times and derived KV capacity. A given
// serving.kv_capacity_tokens stays.
Scenario scenario_with(const Scenario& scenario, const RegimeFactors& factors);

// Returns the scenario's hardware. If the profile does not state errors of host and step times, it gets those
// of the engine version.
HardwareProfile with_engine_errors(const Scenario& scenario);

// Returns the scenario with the errors of draw number `draw`. The scenario's seed determines all draws.
Scenario drawn_scenario(const Scenario& scenario, int64_t draw);

// Returns sentences on features of the scenarios that were not measured, without full stops and duplicates.
// Regimes with a default error come first. `longest_tokens`: the longest context that occurs.
std::vector<std::string> outside_validation(const std::vector<Scenario>& scenarios, int64_t longest_tokens);

}  // namespace kvcap
