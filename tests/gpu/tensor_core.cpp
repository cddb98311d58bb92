#include "gpu/tensor_core.h"

#include <cuda_fp16.h>

#include <cstdint>
#include <vector>

namespace kvcap::gpu {
namespace {

using MatrixRow = uint16_t[8];

// Element `column` of row `row` of matrix `matrix`.
unsigned element(void* const* lanes, int matrix, int row, int column) {
  return (*static_cast<const MatrixRow*>(static_cast<MatrixLane*>(lanes[8 * matrix + row])->row))[column];
}

// Every float16, since conversions are most of the work here.
const std::vector<float>& all_halves() {
  static const std::vector<float> values = [] {
    std::vector<float> all(1 << 16);
    for (std::size_t bits = 0; bits < all.size(); ++bits)
      all[bits] = __half2float({static_cast<uint16_t>(bits)});
    return all;
  }();
  return values;
}

float low_of(unsigned pair, __half) {
  static const float* const values = all_halves().data();
  return values[pair & 0xffffU];
}
float low_of(unsigned pair, __nv_bfloat16) { return __bfloat162float({static_cast<uint16_t>(pair)}); }

template <typename T>
void multiply(void* const* lanes) {
  float a[16][16], b[16][8], c[16][8] = {};
  for (int lane = 0; lane < 32; ++lane) {
    const auto* one = static_cast<ProductLane*>(lanes[lane]);
    const int row = lane / 4;
    const int column = lane % 4 * 2;
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 4; ++i) {
        a[row + i % 2 * 8][column + i / 2 * 8 + half] = low_of(one->a[i] >> 16 * half, T{});
      }
      for (int i = 0; i < 2; ++i) b[column + i * 8 + half][row] = low_of(one->b[i] >> 16 * half, T{});
    }
  }
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 16; ++k) {
      for (int column = 0; column < 8; ++column) c[row][column] += a[row][k] * b[k][column];
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      static_cast<ProductLane*>(lanes[lane])->c[i] += c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
    }
  }
}

}  // namespace

void load_matrices(void* const* lanes) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      static_cast<MatrixLane*>(lanes[lane])->r[i] =
          element(lanes, i, lane / 4, lane % 4 * 2) | element(lanes, i, lane / 4, lane % 4 * 2 + 1) << 16;
    }
  }
}

void load_matrices_transposed(void* const* lanes) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      static_cast<MatrixLane*>(lanes[lane])->r[i] =
          element(lanes, i, lane % 4 * 2, lane / 4) | element(lanes, i, lane % 4 * 2 + 1, lane / 4) << 16;
    }
  }
}

void multiply_float16(void* const* lanes) { multiply<__half>(lanes); }
void multiply_bfloat16(void* const* lanes) { multiply<__nv_bfloat16>(lanes); }

}  // namespace kvcap::gpu
