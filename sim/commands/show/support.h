// kvcap show support: prints what the predicted times of a model are based on, for each GPU and engine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/options.h"
#include "scenario/scenario.h"

namespace kvcap {

// The number of measured runs that kvcap validate compares (measured_runs() of the studies) on one GPU with
// one engine, for models with or without experts.
struct ValidatedRuns {
  std::string_view gpu;  // Gpu::name
  EngineKind engine = EngineKind::vllm;
  bool experts = false;
  int64_t count = 0;
};
std::span<const ValidatedRuns> validated_runs();

// Prints one row per server of the catalogue and one column per engine. `model`: a name or a path; if it is
// empty, prints the evidence for each class of kernels and for each engine's host times instead. Throws
// InputError for an unknown model.
void show_support(const std::string& model, bool json);

// Returns what the times of a scenario are based on, in the words of kvcap show support; "paper" for the
// machine of a paper, which that table leaves out.
std::string evidence_word(const Scenario& scenario);

}  // namespace kvcap
