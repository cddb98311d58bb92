// Laws: figures of a run on a named workload, and the values that exact algorithms or theory give for them.
// Expressions name them law.*.
#pragma once

#include <string>

#include "metrics/result.h"
#include "workload/generators/named_workloads.h"

namespace kvcap {

struct LawInput {
  const Workload& workload;
  WorkloadParameters parameters;  // of the named workload
  const RunResult& run;
};
using Law = double (*)(const LawInput& input);

// Throws InputError for an unknown name, and suggests the nearest one.
Law law_of(const std::string& name);

}  // namespace kvcap
