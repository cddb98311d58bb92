// StepErrorRow: how far whole steps of an engine lie from the sum of their simulated kernels.
//
// Kernels have errors of their own (spec/machine_errors.h), which are those of one program's against
// another's. An engine's step has kernels, gaps and fusions beside them that no table lists; what is missing
// makes steps longer, and is known only from runs of whole engines.
#pragma once

#include <span>
#include <string_view>

#include "serving/options.h"
#include "spec/engine_version.h"
#include "spec/machine_errors.h"

namespace kvcap {

struct StepErrorRow {
  EngineKind engine = EngineKind::vllm;
  EngineVersion from;    // up to the next row's of its kind
  bool experts = false;  // of models with experts, or of others
  // ln(measured / simulated), without what the host takes: the mean, and its standard deviation over models
  // and machines.
  double bias = 0;
  double sigma = 0;
  std::string_view source;   // the runs
  std::string_view outside;  // in words, what the row stands for without having been measured; "": nothing
};

std::span<const StepErrorRow> step_error_table();
const StepErrorRow& step_errors_of(EngineKind engine, EngineVersion version, bool experts);

}  // namespace kvcap
