// The catalogue's models and the GEMMs that they need, without the simulator's loader: the files of models/
// are Hugging Face's keys and the project's own, and only what shapes follow from is read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cost/gemm.h"
#include "spec/model_spec.h"

namespace kvcap::calibration {

ModelSpec read_model(std::string_view json);
std::vector<ModelSpec> catalogue_models();
// Decoders of eight layers, small enough for one core of a CPU; the small one first.
std::vector<ModelSpec> cpu_models();
ModelSpec toy_model();

struct MeasuredShape {
  GemmShape shape;
  int64_t max_rows = 0;  // the vocabulary is projected for the last tokens only
};

// The shapes of all layers, K and V projections, experts and heads of the models, split over 1, 2, 4 and 8
// GPUs where their heads allow it; each once, in order of (n k, n).
std::vector<MeasuredShape> gemm_shapes(const std::vector<ModelSpec>& models, bool split_over_gpus = true);

// 1..16384, powers of two with both sides of the steps that tiles of 64 and 128 rows make.
std::vector<int64_t> staircase_rows();

}  // namespace kvcap::calibration
