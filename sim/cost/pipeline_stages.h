// PipelineStage: the layers of one stage of pipeline parallelism, and the parts of the model around them.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/model_spec.h"

namespace kvcap {

struct PipelineStage {
  int64_t first_layer = 0;
  int64_t layers = 0;
  bool embeds = true;   // has the embedding of the vocabulary
  bool samples = true;  // has the output projection
};

// Returns the stages as vLLM divides layers (vllm/distributed/utils.py, get_pp_indices): evenly; the
// remaining layers go to the stages before the last one, starting with the stage next to the last one.
// REQUIRES: 1 <= stages <= layers.
std::vector<PipelineStage> pipeline_stages(int64_t layers, int64_t stages);

// Returns the model with the stage's layers only. REQUIRES: all layers attend alike, unless the stage has all
// layers.
ModelSpec model_of_stage(const ModelSpec& model, const PipelineStage& stage);

}  // namespace kvcap
