// MeasuredRun: a run of a real server: a scenario and workload that simulate it, and its measured means.
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
  std::function<std::vector<double>(const RunResult& result)> simulated;  // means of a simulated run in the
                                                                          // order of `measured`
  std::string gap;  // effects that the model is known to lack here; empty: none
};

}  // namespace kvcap
