// Deployments: the settings of a scenario as a launch line, Helm values or a Dynamo graph. read_from() reads
// them back as the same settings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "scenario/scenario.h"

namespace kvcap {

// helm: values of vLLM's production stack. dynamo: a DynamoGraphDeployment.
enum class DeploymentForm : uint8_t { launch, helm, dynamo };
inline constexpr std::string_view kDeploymentForms[] = {"launch", "helm", "dynamo"};

// Returns a text with a line end. Throws InputError, which begins with "--emit", if the form cannot express
// the scenario.
std::string deployment_of(const Scenario& scenario, DeploymentForm form);

}  // namespace kvcap
