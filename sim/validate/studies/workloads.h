// Named workloads of studies: what benchmarks send that neither a generator nor a reader of traces makes.
#pragma once

#include <string>

#include "scenario/json.h"
#include "workload/workload.h"

namespace kvcap {

// {"kind": "hit_burst", ...}: the parameters of a kind stand in workloads.cpp; those of files are paths.
// Throws InputError, without a place, for what is none.
Workload named_workload(const Json& request);

}  // namespace kvcap
