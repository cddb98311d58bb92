// A scenario on a plausible machine (cost/drawn_machine.h), with what else of it is uncertain and no part of
// the profile: the host's times and the KV capacity that an engine derives. And what no measurement says
// anything about, so that no interval contains it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cost/drawn_machine.h"
#include "scenario/scenario.h"

namespace kvcap {

// Whether a regime's error changes anything in the scenario's runs.
bool uses_regime(const Scenario& scenario, std::string_view regime);

// With these errors: its hardware, its host times, and the KV capacity that it derives. A given
// serving.kv_capacity_tokens stays.
Scenario scenario_with(const Scenario& scenario, const RegimeFactors& factors);

// Its hardware, with the errors of the engine where the profile states none.
HardwareProfile with_engine_errors(const Scenario& scenario);

// With those of a draw under the seed of the scenario itself.
Scenario drawn_scenario(const Scenario& scenario, int64_t draw);

// Sentences without a full stop, for what these scenarios use outside of what was measured, each once; first
// the regimes whose error is a default. `longest_tokens`: of the contexts that occur.
std::vector<std::string> outside_validation(const std::vector<Scenario>& scenarios, int64_t longest_tokens);

}  // namespace kvcap
