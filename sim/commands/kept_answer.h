// Answers of earlier plans in their plan_result.json, which --emit prints without another search.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "plan/plan.h"
#include "scenario/scenario.h"

namespace kvcap {

// Returns a key of the plan, the files that it names and this build, which decide the answer; "" if a file
// cannot be read twice.
std::string plan_key(const Plan& plan);

// Returns the answer in each form of --emit; null for a form that cannot express it.
nlohmann::ordered_json deployments_of(const Scenario& answer);

// Returns the deployment in a plan_result.json with this key; nullopt if there is none.
std::optional<std::string> kept_deployment(const std::string& file, const std::string& key,
                                           const std::string& form);

}  // namespace kvcap
