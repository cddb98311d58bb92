// Stand-in of calibration/cuda/device.h, which it hides: launches, and the instructions of tensor cores and
// of asynchronous copies as the PTX manual describes them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "gpu/machine.h"
#include "gpu/tensor_core.h"

namespace kvcap::calibration {

template <typename... Parameters, typename... Arguments>
void start(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
           const Arguments&... arguments) {
  gpu::launch(grid, block, stream,
              [kernel, ... values = static_cast<Parameters>(arguments)] { kernel(values...); });
}

inline void copy_16_bytes(void* shared, const void* global, bool zeros) {
  gpu::copy_later(shared, zeros ? nullptr : global, 16);
}
inline void wait_for_copies() { gpu::finish_copies(); }

inline void load_matrices(unsigned (&r)[4], const void* row) {
  gpu::MatrixLane mine{r, row};
  gpu::with_warp(~0U, &mine, gpu::load_matrices);
}

inline void load_matrices_transposed(unsigned (&r)[4], const void* row) {
  gpu::MatrixLane mine{r, row};
  gpu::with_warp(~0U, &mine, gpu::load_matrices_transposed);
}

inline void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __half) {
  gpu::ProductLane mine{c, a, {b0, b1}};
  gpu::with_warp(~0U, &mine, gpu::multiply_float16);
}
inline void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __nv_bfloat16) {
  gpu::ProductLane mine{c, a, {b0, b1}};
  gpu::with_warp(~0U, &mine, gpu::multiply_bfloat16);
}

}  // namespace kvcap::calibration
