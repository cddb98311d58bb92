// Deployments: writes the settings of a scenario as a launch line, Helm values or a Dynamo graph. read_from()
// converts them back to the same settings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "scenario/scenario.h"

namespace kvcap {

// helm: values of vLLM's production stack. dynamo: a DynamoGraphDeployment. llm_d: values of llm-d's
// modelservice.
enum class DeploymentForm : uint8_t { launch, helm, dynamo, llm_d };
inline constexpr std::string_view kDeploymentForms[] = {"launch", "helm", "dynamo", "llm-d"};
// Returns the form of this name. REQUIRES: one of kDeploymentForms.
DeploymentForm deployment_form(std::string_view name);

// Returns the text of the deployment, which ends with a newline. Throws InputError, with a message that
// begins with "--emit", if the form cannot express the scenario.
std::string deployment_of(const Scenario& scenario, DeploymentForm form);

}  // namespace kvcap
