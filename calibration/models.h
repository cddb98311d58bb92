// Reads the models of the catalogue and lists the shapes of their GEMMs. Independent of the simulator's
// loader: reads only those keys of models/*.json that determine shapes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cost/gemm.h"
#include "spec/model_spec.h"

namespace kvcap::calibration {

ModelSpec read_model(std::string_view json);
std::vector<ModelSpec> catalogue_models();
// Decoders of eight layers for one CPU core, ordered by size, smallest first.
std::vector<ModelSpec> cpu_models();
ModelSpec toy_model();

struct MeasuredShape {
  GemmShape shape;
  int64_t max_rows = 0;  // most rows to measure; smaller for heads, which run for last tokens only
};

// Returns the GEMM shapes of the models' layers, K and V projections, experts and heads, split over 1, 2, 4
// and 8 GPUs where the number of heads allows it. Each shape appears once, in order of n k.
std::vector<MeasuredShape> gemm_shapes(const std::vector<ModelSpec>& models, bool split_over_gpus = true);

// Returns row counts from 1 to 16384: powers of two, and values on both sides of the steps that tiles of 64
// and 128 rows cause.
std::vector<int64_t> staircase_rows();

}  // namespace kvcap::calibration
