#include "library/kvcap.h"

#include "metrics/recorder.h"
#include "metrics/write.h"
#include "plan/replicate.h"
#include "scenario/load.h"

namespace kvcap {

std::string version() { return KVCAP_VERSION; }

std::string simulate_scenario(std::string_view scenario_json, const std::vector<std::string>& overrides,
                              const std::string& folder) {
  const Scenario scenario = parse_scenario(scenario_json, folder + "/scenario", overrides);
  return result_json(combine_replications(run_replications({scenario}).front()));
}

std::string scenario_schema() { return scenario_json_schema(); }

}  // namespace kvcap
