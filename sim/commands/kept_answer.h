// Reads the answer of an earlier kvcap plan from its plan_result.json, so that --emit needs no new search.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "plan/plan.h"
#include "scenario/scenario.h"

namespace kvcap {

// Returns a hash of everything that decides the answer: the plan, the files that it names, and this build of
// kvcap. "" if no configuration can be loaded, e.g. because it names a file that can be read only once.
std::string plan_key(const Plan& plan);

// Returns the deployment of the answer in each form of --emit; null for a form that cannot express it.
nlohmann::ordered_json deployments_of(const Scenario& answer);

// Returns the deployment in this form from the plan_result.json `file`; nullopt if there is no such file, if
// its key is not `key`, or if it has no deployment in this form.
std::optional<std::string> kept_deployment(const std::string& file, const std::string& key,
                                           const std::string& form);

}  // namespace kvcap
