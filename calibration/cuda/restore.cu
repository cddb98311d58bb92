// Kernels that only restorations need: moving and comparing rows, and attention mass.
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "calibration/cuda/support.h"

namespace kvcap::calibration {
namespace {

// True iff rows can be accessed 16 bytes at a time.
bool in_packs(std::initializer_list<const void*> starts, std::initializer_list<int64_t> widths) {
  return std::all_of(starts.begin(), starts.end(),
                     [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }) &&
         std::all_of(widths.begin(), widths.end(), [](int64_t width) { return width % kWide == 0; });
}

bool on_host(const void* data) {
  cudaPointerAttributes attributes{};
  require(cudaPointerGetAttributes(&attributes, data), "place of memory");
  return attributes.type == cudaMemoryTypeHost;
}

// ---- rows ----

// Blocks that saturate the bus to host memory: at 16 bytes per thread, twice the bytes that the bus has in
// flight. More blocks would slow down concurrent computation.
constexpr int64_t kHostBlocks = 64;

// One pack per thread; strides in packs.
template <typename T, int V>
__global__ void move_rows_kernel(MoveRows move, int64_t packs_per_row, int64_t in_stride,
                                 int64_t out_stride) {
  using P = Pack<T, V>;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t packs = move.rows * packs_per_row;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs; i += stride) {
    const int64_t row = i / packs_per_row;
    const int64_t pack = i - row * packs_per_row;
    const int64_t other = move.index ? move.index[row] : row;
    const int64_t from = move.scatter ? row : other;
    const int64_t to = move.scatter ? other : row;
    static_cast<P*>(move.out)[to * out_stride + pack] =
        static_cast<const P*>(move.in)[from * in_stride + pack];
  }
}

// One warp per row; strides in packs.
template <typename T, int V>
__global__ void row_distance_kernel(RowDistance d, int64_t packs_per_row, int64_t a_stride,
                                    int64_t b_stride) {
  using P = Pack<T, V>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (row >= d.rows) return;
  const P* a = static_cast<const P*>(d.a) + row * a_stride;
  const P* b = static_cast<const P*>(d.b) + row * b_stride;
  float squares = 0;
  for (int64_t i = lane; i < packs_per_row; i += 32) {
    const P x = a[i];
    const P y = b[i];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float difference = to_float(x.values[j]) - to_float(y.values[j]);
      squares += difference * difference;
    }
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) squares += __shfl_xor_sync(0xffffffffU, squares, lanes);
  if (lane == 0) d.out[row] = squares;
}

// ---- attention mass ----
//
// A row is a query of one query head. The `group` query heads of a KV head have group x queries rows, head by
// head. Softmax takes two passes over the keys: the first computes maxima and sums of each tile, which are
// joined; the second computes the weights. Scores are in units of log2.

constexpr int kMassKeys = 64;  // keys per block, two per lane
constexpr int kMassWarps = 4;
constexpr int kWarpRows = 4;                       // rows that a warp computes together
constexpr int kMassRows = kMassWarps * kWarpRows;  // rows that a block computes together
constexpr int kMassThreads = 32 * kMassWarps;
constexpr int kMassPad = 8;  // padding elements per key, so that keys start in different banks

template <typename T, int kHeadDim>
struct MassTile {
  alignas(16) T keys[kMassKeys][kHeadDim + kMassPad];
  alignas(16) float queries[kMassRows][kHeadDim];  // scaled
};

// Loads keys [first, first + kMassKeys) of a KV head; keys beyond the last are zeros.
template <typename T, int kHeadDim>
__device__ void load_keys(MassTile<T, kHeadDim>& tile, const AttentionMass& m, int64_t head, int64_t first) {
  using P = Pack<T, kWide>;
  constexpr int kPacks = kHeadDim / kWide;
  const T* k = static_cast<const T*>(m.k) + head * m.k_head_stride;
  for (int i = threadIdx.x; i < kMassKeys * kPacks; i += kMassThreads) {
    const int key = i / kPacks;
    const int d = i % kPacks * kWide;
    P pack{};
    if (first + key < m.keys) pack = *reinterpret_cast<const P*>(k + (first + key) * m.k_stride + d);
    *reinterpret_cast<P*>(&tile.keys[key][d]) = pack;
  }
}

// Computes the scores of rows [first_row + kWarpRows warp, ...) and keys lane, lane + 32 of the tile; rows
// beyond the last score 0. Every thread of the block takes part.
template <typename T, int kHeadDim>
__device__ void score(MassTile<T, kHeadDim>& tile, const AttentionMass& m, int64_t head, int64_t first_row,
                      float scale_log2, float (&scores)[kWarpRows][2]) {
  using P = Pack<T, kWide>;
  __syncthreads();  // no thread reads the previous queries any more
  const T* q = static_cast<const T*>(m.q);
  for (int i = threadIdx.x; i < kMassRows * kHeadDim; i += kMassThreads) {
    const int64_t row = first_row + i / kHeadDim;
    const int d = i % kHeadDim;
    const int64_t query_head = head * m.group + row / m.queries;
    tile.queries[i / kHeadDim][d] =
        row < m.group * m.queries
            ? to_float(q[row % m.queries * m.q_stride + query_head * kHeadDim + d]) * scale_log2
            : 0;
  }
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int r = 0; r < kWarpRows; ++r) scores[r][0] = scores[r][1] = 0;
#pragma unroll 2
  for (int d = 0; d < kHeadDim; d += kWide) {
    const P keys[2] = {*reinterpret_cast<const P*>(&tile.keys[lane][d]),
                       *reinterpret_cast<const P*>(&tile.keys[lane + 32][d])};
#pragma unroll
    for (int j = 0; j < kWide; ++j) {
      const float low = to_float(keys[0].values[j]);
      const float high = to_float(keys[1].values[j]);
#pragma unroll
      for (int r = 0; r < kWarpRows; ++r) {
        const float query = tile.queries[warp * kWarpRows + r][d + j];
        scores[r][0] += query * low;
        scores[r][1] += query * high;
      }
    }
  }
}

// One row's highest score, and the sum of the weights exp2(score - most) (or its inverse).
struct RowState {
  float most, sum;
};

__device__ RowState joined(RowState a, RowState b) {
  const float most = fmaxf(a.most, b.most);
  if (most == -INFINITY) return {most, 0};
  return {most, a.sum * exp2f(a.most - most) + b.sum * exp2f(b.most - most)};
}

__device__ RowState joined_by_warp(RowState state) {
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    state = joined(state, {__shfl_xor_sync(0xffffffffU, state.most, lanes),
                           __shfl_xor_sync(0xffffffffU, state.sum, lanes)});
  }
  return state;
}

// Block (tile of keys, KV head). states[KV head][row][tile]
template <typename T, int kHeadDim>
__global__ void __launch_bounds__(kMassThreads)
    mass_tiles_kernel(AttentionMass m, float scale_log2, RowState* states) {
  __shared__ MassTile<T, kHeadDim> tile;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t head = blockIdx.y;
  const int64_t first_key = static_cast<int64_t>(blockIdx.x) * kMassKeys;
  const int64_t rows = m.group * m.queries;
  load_keys(tile, m, head, first_key);
  for (int64_t first_row = 0; first_row < rows; first_row += kMassRows) {
    float scores[kWarpRows][2];
    score(tile, m, head, first_row, scale_log2, scores);
#pragma unroll
    for (int r = 0; r < kWarpRows; ++r) {
      RowState one[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const bool there = first_key + lane + 32 * i < m.keys;
        one[i] = there ? RowState{scores[r][i], 1} : RowState{-INFINITY, 0};
      }
      const RowState state = joined_by_warp(joined(one[0], one[1]));
      const int64_t row = first_row + warp * kWarpRows + r;
      if (lane == 0 && row < rows) states[(head * rows + row) * gridDim.x + blockIdx.x] = state;
    }
  }
}

// Joins the tiles of each row of a KV head, one warp per row: whole[KV head][row], with the inverse of the
// sum.
__global__ void mass_rows_kernel(const RowState* states, int64_t tiles, RowState* whole) {
  RowState state{-INFINITY, 0};
  for (int64_t tile = threadIdx.x; tile < tiles; tile += 32) {
    state = joined(state, states[blockIdx.x * tiles + tile]);
  }
  state = joined_by_warp(state);
  if (threadIdx.x == 0) whole[blockIdx.x] = {state.most, 1 / state.sum};
}

// Block (tile of keys, KV head).
template <typename T, int kHeadDim>
__global__ void __launch_bounds__(kMassThreads)
    mass_kernel(AttentionMass m, float scale_log2, const RowState* whole) {
  __shared__ MassTile<T, kHeadDim> tile;
  __shared__ float of_warps[kMassWarps][kMassKeys];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t head = blockIdx.y;
  const int64_t first_key = static_cast<int64_t>(blockIdx.x) * kMassKeys;
  const int64_t rows = m.group * m.queries;
  float mass[2] = {0, 0};
  load_keys(tile, m, head, first_key);
  for (int64_t first_row = 0; first_row < rows; first_row += kMassRows) {
    float scores[kWarpRows][2];
    score(tile, m, head, first_row, scale_log2, scores);
#pragma unroll
    for (int r = 0; r < kWarpRows; ++r) {
      const int64_t row = first_row + warp * kWarpRows + r;
      if (row >= rows) continue;
      const RowState state = whole[head * rows + row];
#pragma unroll
      for (int i = 0; i < 2; ++i) mass[i] += exp2f(scores[r][i] - state.most) * state.sum;
    }
  }
  of_warps[warp][lane] = mass[0];
  of_warps[warp][lane + 32] = mass[1];
  __syncthreads();
  const int64_t key = first_key + threadIdx.x;
  if (threadIdx.x >= kMassKeys || key >= m.keys) return;
  float sum = 0;
#pragma unroll
  for (int w = 0; w < kMassWarps; ++w) sum += of_warps[w][threadIdx.x];
  m.mass[head * m.keys + key] = sum;
}

template <typename T, int kHeadDim>
void weigh(const AttentionMass& m, RowState* workspace, cudaStream_t stream) {
  const float scale_log2 = kLog2E / std::sqrt(static_cast<float>(kHeadDim));
  const int64_t tiles = (m.keys + kMassKeys - 1) / kMassKeys;
  const int64_t rows = m.kv_heads * m.group * m.queries;
  if (rows * (tiles + 1) * static_cast<int64_t>(sizeof(RowState)) > kAttentionWorkspaceBytes) {
    throw BackendError("attention mass: more queries and keys than its workspace holds");
  }
  RowState* const whole = workspace + rows * tiles;
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(m.kv_heads));
  start(mass_tiles_kernel<T, kHeadDim>, grid, kMassThreads, stream, m, scale_log2, workspace);
  require_launch("attention mass, tiles");
  start(mass_rows_kernel, static_cast<unsigned>(rows), 32, stream, workspace, tiles, whole);
  require_launch("attention mass, rows");
  start(mass_kernel<T, kHeadDim>, grid, kMassThreads, stream, m, scale_log2, whole);
  require_launch("attention mass");
}

}  // namespace

void launch(const MoveRows& move, cudaStream_t stream) {
  if (move.rows == 0) return;
  const int64_t most_blocks = on_host(move.in) || on_host(move.out) ? kHostBlocks : 1 << 16;
  with_type(move.format, [&](auto zero) {
    using T = decltype(zero);
    if (in_packs({move.in, move.out}, {move.width, move.in_stride, move.out_stride})) {
      const int64_t packs = move.width / kWide;
      start(move_rows_kernel<T, kWide>, blocks_for(move.rows * packs, most_blocks), kThreads, stream, move,
            packs, move.in_stride / kWide, move.out_stride / kWide);
    } else {
      start(move_rows_kernel<T, 1>, blocks_for(move.rows * move.width, most_blocks), kThreads, stream, move,
            move.width, move.in_stride, move.out_stride);
    }
  });
  require_launch("move_rows");
}

void launch(const RowDistance& d, cudaStream_t stream) {
  if (d.rows == 0) return;
  constexpr int64_t kRows = kThreads / 32;
  const auto blocks = static_cast<unsigned>((d.rows + kRows - 1) / kRows);
  with_type(d.format, [&](auto zero) {
    using T = decltype(zero);
    if (in_packs({d.a, d.b}, {d.width, d.a_stride, d.b_stride})) {
      start(row_distance_kernel<T, kWide>, blocks, kThreads, stream, d, d.width / kWide, d.a_stride / kWide,
            d.b_stride / kWide);
    } else {
      start(row_distance_kernel<T, 1>, blocks, kThreads, stream, d, d.width, d.a_stride, d.b_stride);
    }
  });
  require_launch("row_distance");
}

void launch(const AttentionMass& m, float* workspace, cudaStream_t stream) {
  if (m.keys == 0 || m.kv_heads == 0) return;
  if (m.head_dim != 64 && m.head_dim != 128) {
    throw BackendError("attention mass: head_dim must be 64 or 128 on the CUDA backend");
  }
  if (!in_packs({m.k}, {m.k_stride, m.k_head_stride})) {
    throw BackendError("attention mass: keys must start at multiples of 16 bytes on the CUDA backend");
  }
  auto* const states = reinterpret_cast<RowState*>(workspace);
  with_type(m.format, [&](auto zero) {
    using T = decltype(zero);
    if (m.head_dim == 64) return weigh<T, 64>(m, states, stream);
    weigh<T, 128>(m, states, stream);
  });
}

}  // namespace kvcap::calibration
