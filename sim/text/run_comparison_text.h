// Formats the comparison of a simulation with a server's log as a table and as JSON.
#pragma once

#include <string>

#include "validate/runs/run_comparison.h"

namespace kvcap {

// Returns a kvcap.validation/1 document with causes, evidence and notes.
std::string run_comparison_json(const RunComparison& comparison);
std::string run_comparison_table(const RunComparison& comparison);

}  // namespace kvcap
