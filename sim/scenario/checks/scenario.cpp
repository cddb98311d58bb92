// Checks a whole scenario, in the order in which its errors are reported.
#include "scenario/checks/checks.h"

namespace kvcap {

void check_scenario(Scenario& scenario, const Places& places) {
  check_model(scenario.model, places, "model");
  check_hardware(scenario.hardware, places, "hardware");
  check_group_rules(scenario, places);
  check_serving(scenario, places);
  check_policy(scenario, places);
  check_workload(scenario, places);
  check_fleet(scenario, places);
  check_disaggregation(scenario, places);
  note_unreached(scenario);
  if (!scenario.workload.priorities.empty() && scenario.serving.scheduling_policy == SchedulingPolicy::fcfs) {
    scenario.notes.emplace_back("workload.priorities is not used: serving.scheduling_policy is \"fcfs\"");
  }
  if (scenario.serving.max_model_len > scenario.model.max_position_embeddings) {
    scenario.notes.push_back("serving.max_model_len is " + std::to_string(*scenario.serving.max_model_len) +
                             ", the model was trained for " +
                             std::to_string(scenario.model.max_position_embeddings) + " positions");
  }
}

}  // namespace kvcap
