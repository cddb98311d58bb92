// Times of single GEMM and attention kernels on one GPU, for comparison with measurements.
#pragma once

#include <cstdint>

#include "cost/step_work.h"
#include "spec/hardware_profile.h"

namespace kvcap {

// Returns the time of one GEMM C[m, n] = A[m, k] B[k, n] on one GPU, without kernel overhead (see
// Efficiency). a_bytes and b_bytes: bytes per element of activations and of weights. The wider of the two
// selects the GPU's peak; C has max(a_bytes, 2) bytes per element. For `table`, *extrapolated is set if (m,
// n, k) or the bytes are not among the measured points.
double gemm_s(const Efficiency& efficiency, const Gpu& gpu, int64_t m, int64_t n, int64_t k, double a_bytes,
              double b_bytes, bool* extrapolated = nullptr);

// Returns the time of causal attention of `chunk.new_tokens` queries over cached and new keys on one GPU, one
// layer, one sequence: F = 4 h d (q m + q^2/2) flops for q new and m cached tokens, h query heads and
// head_dim d; for a whole prompt of n tokens this is 2 n^2 D with D = h d. For `wave`, with thread blocks of
// bm queries that do not split the keys: t = c + ceil(h ceil(q/bm)/SMs) 4 bm d (m + q/2 + bm/2)/(P e/SMs).
// For `blocks`: see attention.h.
double attention_s(const Efficiency& efficiency, const Gpu& gpu, PrefillChunk chunk, int64_t query_heads,
                   int64_t kv_heads, int64_t head_dim, double bytes_per_element);

}  // namespace kvcap
