// Scenario: everything one simulation depends on, as plain values: the sum of the modules' options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fidelity.h"
#include "policy/options.h"
#include "serving/fleet_options.h"
#include "serving/options.h"
#include "spec/hardware_profile.h"
#include "spec/model_spec.h"
#include "workload/options.h"

namespace kvcap {

// Targets that define goodput; absent targets are not judged.
struct SloOptions {
  std::optional<double> ttft_ms;
  std::optional<double> tpot_ms;
};

struct Scenario {
  std::string name;
  ModelSpec model;
  HardwareProfile hardware;
  ServingOptions serving;
  FleetOptions fleet;
  WorkloadOptions workload;
  PolicyOptions policy;
  SloOptions slo;
  Fidelity fidelity = Fidelity::request;
  int64_t replications = 1;  // runs with seeds seed .. seed + replications - 1
  uint64_t seed = 1;
  std::vector<std::string> notes;  // of every object of the file, in order
  std::string resolved_json;       // the scenario with every default filled in, for the result
  std::string file;                // as messages call it; empty where there is none
};

}  // namespace kvcap
