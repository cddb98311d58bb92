// A run of a real server: what simulates it, and the means that were measured of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "metrics/result.h"
#include "scenario/scenario.h"
#include "workload/workload.h"

namespace kvcap {

struct MeasuredRun {
  std::string family;  // "vllm-h100"
  Scenario scenario;
  Workload workload;
  std::vector<double> measured;
  std::function<std::vector<double>(const RunResult& result)> simulated;  // the same means, in this order
  std::string gap;  // what is known to be missing from the model here; empty: nothing
};

}  // namespace kvcap
