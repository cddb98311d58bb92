#include "cost/pipeline_stages.h"

#include <algorithm>

#include "base/check.h"

namespace kvcap {

std::vector<PipelineStage> pipeline_stages(int64_t layers, int64_t stages) {
  KVCAP_CHECK(stages >= 1 && stages <= layers);
  std::vector<PipelineStage> all;
  const int64_t left = layers % stages;
  int64_t first = 0;
  for (int64_t i = 0; i < stages; ++i) {
    const bool has_more = i < stages - 1 && i >= stages - 1 - left;
    const int64_t here = layers / stages + (has_more ? 1 : 0);
    all.push_back({.first_layer = first, .layers = here, .embeds = i == 0, .samples = i == stages - 1});
    first += here;
  }
  return all;
}

ModelSpec model_of_stage(const ModelSpec& model, const PipelineStage& stage) {
  if (stage.layers == model.num_hidden_layers) return model;
  KVCAP_CHECK(model.is_uniform());
  ModelSpec part = model;
  part.num_hidden_layers = stage.layers;
  if (part.experts) {
    part.experts->dense_layers =
        std::clamp<int64_t>(model.experts->dense_layers - stage.first_layer, 0, stage.layers);
  }
  return part;
}

}  // namespace kvcap
