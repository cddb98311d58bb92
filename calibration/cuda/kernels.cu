// Element-wise kernels. All are memory-bound: a thread moves 16 bytes at a time if the width allows.
#include "calibration/cuda/support.h"
#include "calibration/random_value.h"

namespace kvcap::calibration {
namespace {

template <typename T>
__global__ void fill_random_kernel(T* data, int64_t count, uint64_t seed) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    data[i] = from_float<T>(random_value(seed, static_cast<uint64_t>(i)));
  }
}

template <typename T, int V>
__global__ void add_kernel(const T* a, const T* b, T* out, int64_t packs) {
  using P = Pack<T, V>;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs; i += stride) {
    P x = reinterpret_cast<const P*>(a)[i];
    const P y = reinterpret_cast<const P*>(b)[i];
#pragma unroll
    for (int j = 0; j < V; ++j) x.values[j] = from_float<T>(to_float(x.values[j]) + to_float(y.values[j]));
    reinterpret_cast<P*>(out)[i] = x;
  }
}

template <typename T, int V>
__global__ void silu_multiply_kernel(const T* in, T* out, int64_t rows, int64_t packs_per_row) {
  using P = Pack<T, V>;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t packs = rows * packs_per_row;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs; i += stride) {
    const int64_t row = i / packs_per_row;
    const P* gate = reinterpret_cast<const P*>(in) + row * 2 * packs_per_row + (i - row * packs_per_row);
    P x = gate[0];
    const P up = gate[packs_per_row];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float g = to_float(x.values[j]);
      x.values[j] = from_float<T>(g / (1.0F + __expf(-g)) * to_float(up.values[j]));
    }
    reinterpret_cast<P*>(out)[i] = x;
  }
}

// One block per row.
template <typename T, int V>
__global__ void rms_norm_kernel(const T* in, const T* weight, T* out, int64_t packs_per_row, int64_t width) {
  using P = Pack<T, V>;
  const P* row = reinterpret_cast<const P*>(in) + blockIdx.x * packs_per_row;
  float squares = 0;
  for (int64_t i = threadIdx.x; i < packs_per_row; i += kThreads) {
    const P x = row[i];
#pragma unroll
    for (int j = 0; j < V; ++j) squares += to_float(x.values[j]) * to_float(x.values[j]);
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) squares += __shfl_xor_sync(0xffffffffU, squares, lanes);
  __shared__ float of_warps[kThreads / 32];
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = squares;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < kThreads / 32; ++warp) sum += of_warps[warp];
  const float scale = rsqrtf(sum / static_cast<float>(width) + kNormEpsilon);
  P* to = reinterpret_cast<P*>(out) + blockIdx.x * packs_per_row;
  for (int64_t i = threadIdx.x; i < packs_per_row; i += kThreads) {
    P x = row[i];
    const P w = reinterpret_cast<const P*>(weight)[i];
#pragma unroll
    for (int j = 0; j < V; ++j)
      x.values[j] = from_float<T>(to_float(x.values[j]) * scale * to_float(w.values[j]));
    to[i] = x;
  }
}

// One block per token: threadIdx.x is the pair, threadIdx.y walks over the heads.
template <typename T>
__global__ void rope_kernel(T* data, int64_t stride, int64_t heads, int64_t head_dim, int64_t first_position,
                            const int32_t* positions) {
  const int half = static_cast<int>(head_dim / 2);
  const int pair = static_cast<int>(threadIdx.x);
  const float frequency = powf(10000.0F, -2.0F * static_cast<float>(pair) / static_cast<float>(head_dim));
  const int64_t position = positions ? positions[blockIdx.x] : first_position + blockIdx.x;
  float sine = 0;
  float cosine = 0;
  sincosf(static_cast<float>(position) * frequency, &sine, &cosine);
  for (int64_t h = threadIdx.y; h < heads; h += blockDim.y) {
    T* x = data + blockIdx.x * stride + h * head_dim + pair;
    const float low = to_float(x[0]);
    const float high = to_float(x[half]);
    x[0] = from_float<T>(low * cosine - high * sine);
    x[half] = from_float<T>(high * cosine + low * sine);
  }
}

__global__ void empty() {}

}  // namespace

void launch_fill_random(Format format, void* data, int64_t count, uint64_t seed, cudaStream_t stream) {
  if (count == 0) return;
  const auto fill = [&](auto zero) {
    using T = decltype(zero);
    start(fill_random_kernel<T>, blocks_for(count), kThreads, stream, static_cast<T*>(data), count, seed);
  };
  if (format == Format::float8) {
    fill(Float8{});
  } else if (format == Format::float32) {
    fill(float{});
  } else {
    with_type(format, fill);
  }
  require_launch("fill_random");
}

void launch(const Add& add, cudaStream_t stream) {
  if (add.count == 0) return;
  with_type(add.format, [&](auto zero) {
    using T = decltype(zero);
    const auto* a = static_cast<const T*>(add.a);
    const auto* b = static_cast<const T*>(add.b);
    auto* out = static_cast<T*>(add.out);
    if (add.count % kWide == 0) {
      const int64_t packs = add.count / kWide;
      start(add_kernel<T, kWide>, blocks_for(packs), kThreads, stream, a, b, out, packs);
    } else {
      start(add_kernel<T, 1>, blocks_for(add.count), kThreads, stream, a, b, out, add.count);
    }
  });
  require_launch("add");
}

void launch(const SiluMultiply& silu, cudaStream_t stream) {
  if (silu.rows == 0) return;
  with_type(silu.format, [&](auto zero) {
    using T = decltype(zero);
    const auto* in = static_cast<const T*>(silu.in);
    auto* out = static_cast<T*>(silu.out);
    if (silu.width % kWide == 0) {
      const int64_t packs = silu.width / kWide;
      start(silu_multiply_kernel<T, kWide>, blocks_for(silu.rows * packs), kThreads, stream, in, out,
            silu.rows, packs);
    } else {
      start(silu_multiply_kernel<T, 1>, blocks_for(silu.rows * silu.width), kThreads, stream, in, out,
            silu.rows, silu.width);
    }
  });
  require_launch("silu_multiply");
}

void launch(const RmsNorm& norm, cudaStream_t stream) {
  if (norm.rows == 0) return;
  with_type(norm.format, [&](auto zero) {
    using T = decltype(zero);
    const auto* in = static_cast<const T*>(norm.in);
    const auto* weight = static_cast<const T*>(norm.weight);
    auto* out = static_cast<T*>(norm.out);
    const auto rows = static_cast<unsigned>(norm.rows);
    if (norm.width % kWide == 0) {
      start(rms_norm_kernel<T, kWide>, rows, kThreads, stream, in, weight, out, norm.width / kWide,
            norm.width);
    } else {
      start(rms_norm_kernel<T, 1>, rows, kThreads, stream, in, weight, out, norm.width, norm.width);
    }
  });
  require_launch("rms_norm");
}

void launch(const Rope& rope, cudaStream_t stream) {
  if (rope.tokens == 0) return;
  const auto pairs = static_cast<unsigned>(rope.head_dim / 2);
  if (rope.head_dim % 2 != 0 || pairs > 1024)
    throw BackendError("rope: head_dim must be even and at most 2048");
  const dim3 threads(pairs, std::max(1U, static_cast<unsigned>(kThreads) / pairs));
  with_type(rope.format, [&](auto zero) {
    using T = decltype(zero);
    start(rope_kernel<T>, static_cast<unsigned>(rope.tokens), threads, stream, static_cast<T*>(rope.data),
          rope.stride, rope.heads, rope.head_dim, rope.first_position, rope.positions);
  });
  require_launch("rope");
}

void launch_empty(cudaStream_t stream) {
  start(empty, 1, 1, stream);
  require_launch("empty kernel");
}

}  // namespace kvcap::calibration
