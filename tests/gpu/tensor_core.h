// Instructions of tensor cores, for with_warp(): what all lanes of a warp bring and receive.
#pragma once

namespace kvcap::gpu {

// ldmatrix.x4 of 8 x 8 elements of 16 bits: a lane names one row and receives four registers.
struct MatrixLane {
  unsigned* r;
  const void* row;
};
void load_matrices(void* const* lanes);
void load_matrices_transposed(void* const* lanes);

// mma.m16n8k16: a lane's part of c, a and b.
struct ProductLane {
  float* c;
  const unsigned* a;
  unsigned b[2];
};
void multiply_float16(void* const* lanes);
void multiply_bfloat16(void* const* lanes);

}  // namespace kvcap::gpu
