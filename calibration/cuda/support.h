// Helpers of the CUDA sources: error checks of calls, dispatch on formats, and kernel launches.
#pragma once

#include <algorithm>
#include <string>

#include "calibration/backend.h"
#include "calibration/cuda/device.h"

namespace kvcap::calibration {

inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // forgets the error, which the next launch would report otherwise
  throw BackendError(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
}
// Throws BackendError if the preceding launch was rejected.
inline void require_launch(const char* kernel) { require(cudaGetLastError(), kernel); }

inline Buffer allocate_device(int64_t bytes) {
  void* data = nullptr;
  require(cudaMalloc(&data, static_cast<std::size_t>(bytes)), "device memory");
  return {data, bytes, [](void* memory) { cudaFree(memory); }};
}

// A number in e4m3: a sign, 4 bits of exponent, 3 of fraction.
struct Float8 {
  uint8_t bits;
};

inline __device__ float to_float(__half x) { return __half2float(x); }
inline __device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
template <typename T>
__device__ T from_float(float x);
template <>
inline __device__ __half from_float<__half>(float x) {
  return __float2half_rn(x);
}
template <>
inline __device__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
inline __device__ float from_float<float>(float x) {
  return x;
}
// Of numbers up to 448, to the nearest and of two the even one.
template <>
inline __device__ Float8 from_float<Float8>(float x) {
  const unsigned sign = __float_as_uint(x) >> 24 & 0x80U;
  const float size = fabsf(x);
  if (size < 0x1p-6F) return {static_cast<uint8_t>(sign | static_cast<unsigned>(rintf(size * 0x1p9F)))};
  const unsigned bits = __float_as_uint(size);
  // Exponents of float8 are 120 smaller.
  return {static_cast<uint8_t>(sign | (bits + 0x7ffffU + (bits >> 20 & 1U) - (120U << 23)) >> 20)};
}

// Element-wise kernels: threads per block, and 16-bit elements in the 16 bytes that a thread moves at a time.
inline constexpr int kThreads = 256;
inline constexpr int kWide = 8;

template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

// Returns the number of blocks for one item per thread; grid strides cover items beyond `most_blocks`.
inline unsigned blocks_for(int64_t items, int64_t most_blocks = 1 << 16) {
  return static_cast<unsigned>(std::clamp<int64_t>((items + kThreads - 1) / kThreads, 1, most_blocks));
}

// Calls work(T{}) with the type of the format.
template <typename Work>
void with_type(Format format, const Work& work) {
  switch (format) {
    case Format::float16:
      return work(__half{});
    case Format::bfloat16:
      return work(__nv_bfloat16{});
    case Format::float32:
    case Format::float8:
      throw BackendError("the CUDA backend computes in float16 and bfloat16");
  }
}

// Enqueue the operations of backend.h (kernels.cu, attention.cu, restore.cu, largest.cu).
void launch(const Rope& rope, cudaStream_t stream);
void launch(const RmsNorm& norm, cudaStream_t stream);
void launch(const SiluMultiply& silu, cudaStream_t stream);
void launch(const Add& add, cudaStream_t stream);
void launch(const MoveRows& move, cudaStream_t stream);
void launch(const RowDistance& distance, cudaStream_t stream);
void launch(const MarkLargest& mark, cudaStream_t stream);
void launch_fill_random(Format format, void* data, int64_t count, uint64_t seed, cudaStream_t stream);
void launch_empty(cudaStream_t stream);
inline constexpr float kLog2E = 1.4426950408889634F;
// Size of `workspace`, which belongs to the stream.
inline constexpr int64_t kAttentionWorkspaceBytes = 64 << 20;
void launch(const Attention& attention, int sm_count, float* workspace, cudaStream_t stream);
void launch(const AttentionMass& mass, float* workspace, cudaStream_t stream);

}  // namespace kvcap::calibration
