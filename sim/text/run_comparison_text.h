// The comparison of a simulation with a server's log, as a table for people and as JSON.
#pragma once

#include <string>

#include "validate/runs/run_comparison.h"

namespace kvcap {

// Returns "schema": "kvcap.validation/1", with causes, evidence and notes.
std::string run_comparison_json(const RunComparison& comparison);
std::string run_comparison_table(const RunComparison& comparison);

}  // namespace kvcap
