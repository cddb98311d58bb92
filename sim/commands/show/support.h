// kvcap show support: what the times of a model on each GPU with each engine rest on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/options.h"
#include "scenario/scenario.h"

namespace kvcap {

// Measured runs that kvcap validate compares (measured_runs() of the studies), of models with or without
// experts.
struct ValidatedRuns {
  std::string_view gpu;  // Gpu::name
  EngineKind engine = EngineKind::vllm;
  bool experts = false;
  int64_t count = 0;
};
std::span<const ValidatedRuns> validated_runs();

// Prints one row per GPU of the catalogue and one column per engine. `model`: a name or a path; empty: what
// profiles have for each class of kernels, and engines for host times. Throws InputError for an unknown
// model.
void show_support(const std::string& model, bool json);

// Returns what the times of a scenario rest on, in the words of kvcap show support; "paper" for the machine
// of a paper, which that table leaves out.
std::string evidence_word(const Scenario& scenario);

}  // namespace kvcap
