// StepErrorRow: the error of an engine's whole steps relative to the sum of their simulated kernels.
//
// The errors of single kernels are in spec/machine_errors.h. An engine's step also has kernels, gaps and
// fusions that no table lists; they make steps longer and are known only from runs of whole engines.
#pragma once

#include <span>
#include <string_view>

#include "engine/options.h"
#include "spec/engine_version.h"
#include "spec/machine_errors.h"

namespace kvcap {

struct StepErrorRow {
  EngineKind engine = EngineKind::vllm;
  EngineVersion from;    // valid up to the version of the next row of the same kind
  bool experts = false;  // true: for models with experts
  // ln(measured / simulated), without host times: mean, and standard deviation over models and machines.
  double bias = 0;
  double sigma = 0;
  std::string_view source;   // the runs from which the row is derived
  std::string_view outside;  // what the row covers although it was not measured; "": nothing
};

std::span<const StepErrorRow> step_error_table();
const StepErrorRow& step_errors_of(EngineKind engine, EngineVersion version, bool experts);

}  // namespace kvcap
