// Named workloads of studies: requests of benchmarks that no generator or trace reader can produce.
#pragma once

#include <string>

#include "scenario/json.h"
#include "workload/workload.h"

namespace kvcap {

// Makes {"kind": "hit_burst", ...}: workloads.cpp lists the parameters of each kind; those for files are
// paths. Throws InputError, without a place, for an unknown kind.
Workload named_workload(const Json& request);

}  // namespace kvcap
