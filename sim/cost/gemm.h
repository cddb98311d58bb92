// How a GPU's efficiency model turns flops and bytes, or the shape of a GEMM, into seconds. Private to
// cost/: others ask CostModel.
#pragma once

#include <cstdint>

#include "spec/hardware_profile.h"

namespace kvcap {

// The weights of one GEMM C[m, n] = A[m, k] B[k, n] on one GPU.
struct GemmShape {
  int64_t n = 0;
  int64_t k = 0;
};

// `groups` GEMMs of the same weight shape in one kernel, `rows` rows each. One group is a plain GEMM;
// several are the experts of a layer, where both numbers are expectations and need not be whole.
struct GemmRows {
  double rows = 0;
  double groups = 1;
};

struct ElementBytes {
  double activation = 2;
  double weight = 2;
};

// The part that grows with the work, for `constant`: max(F/(P e), B/W), and for `smooth_max`:
// ((F/(P e))^3 + (B/(W b))^3)^(1/3).
double roofline_s(const Efficiency& efficiency, const Gpu& gpu, double flops, double bytes);

// The part that every call pays: c of smooth_max and wave, 0 for the others.
double fixed_s(const Efficiency& efficiency);

double grouped_gemm_s(const Efficiency& efficiency, const Gpu& gpu, GemmRows rows, GemmShape shape,
                      ElementBytes bytes, bool* extrapolated);

}  // namespace kvcap
