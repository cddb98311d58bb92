// Attention kernels: prefill on tensor cores, decode by streaming keys and values.
//
// Prefill: a thread block takes 64 queries of one head and walks over their keys in tiles of 64, with the
// running maximum and sum of FlashAttention-2 (Dao 2023, algorithm 1). Four warps of 16 queries each multiply
// with mma.m16n8k16. Keys are not split over blocks, in line with the wave model of cost/.
//
// Decode: keys are split over blocks. Half a warp reads a key, 16 bytes per lane. A second kernel joins the
// splits.
#include <algorithm>

#include "calibration/cuda/support.h"

namespace kvcap::calibration {
namespace {

// ---- prefill ----

constexpr int kTile = 64;  // queries per block, keys per step
constexpr int kWarps = 4;
constexpr int kPrefillThreads = 32 * kWarps;
constexpr int kPad = 8;  // padding elements per row in shared memory, so that rows start in different banks

// Packs two neighbours of a row into one register, the first in the low half.
template <typename T>
__device__ unsigned packed(float low, float high) {
  const T pair[2] = {from_float<T>(low), from_float<T>(high)};
  unsigned bits = 0;
  memcpy(&bits, pair, sizeof bits);
  return bits;
}

__device__ void wait_for_loads() {
  wait_for_copies();
  __syncthreads();
}

// Starts to load rows [first, first + kTile) of `from`; rows from `count` on become zeros.
template <typename T, int kHeadDim>
__device__ void load_tile(T (*to)[kHeadDim + kPad], const T* from, int64_t stride, int64_t first,
                          int64_t count) {
  constexpr int kPieces = kHeadDim * static_cast<int>(sizeof(T)) / 16;  // per row
  constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  for (int i = threadIdx.x; i < kTile * kPieces; i += kPrefillThreads) {
    const int row = i / kPieces;
    const int column = i % kPieces * kElements;
    const bool there = first + row < count;
    const T* source = from + (there ? (first + row) * stride + column : 0);
    copy_16_bytes(&to[row][column], source, !there);
  }
}

// Returns the last key that a query sees; padding queries beyond the last see any.
template <bool kScattered>
__device__ int64_t last_key(const Attention& at, int64_t query) {
  if constexpr (kScattered) return at.query_positions[min(query, at.new_tokens - 1)];
  return at.cached_tokens + query;
}

template <typename T, int kHeadDim, bool kScattered>
__global__ void __launch_bounds__(kPrefillThreads) prefill_kernel(Attention at, float scale_log2) {
  alignas(16) __shared__ T key_tile[kTile][kHeadDim + kPad];
  alignas(16) __shared__ T value_tile[kTile][kHeadDim + kPad];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int group = lane / 4;     // accumulator rows `group` and `group` + 8
  const int in_group = lane % 4;  // accumulator columns 2 in_group and 2 in_group + 1

  // The last queries see the most keys and start first.
  const int64_t first_query = static_cast<int64_t>(gridDim.x - 1 - blockIdx.x) * kTile;
  const int64_t head = blockIdx.y;
  const int64_t sequence = blockIdx.z;
  const int64_t kv_head = head / (at.query_heads / at.kv_heads);
  const int64_t all_keys = at.cached_tokens + at.new_tokens;
  const T* q = static_cast<const T*>(at.q) + sequence * at.new_tokens * at.q_stride + head * kHeadDim;
  const T* k = static_cast<const T*>(at.k) + sequence * all_keys * at.kv_stride + kv_head * kHeadDim;
  const T* v = static_cast<const T*>(at.v) + sequence * all_keys * at.kv_stride + kv_head * kHeadDim;

  unsigned queries[kHeadDim / 16][4];
  load_tile<T, kHeadDim>(key_tile, q, at.q_stride, first_query, at.new_tokens);
  wait_for_loads();
#pragma unroll
  for (int d = 0; d < kHeadDim / 16; ++d) {
    load_matrices(queries[d], &key_tile[warp * 16 + lane % 16][d * 16 + lane / 16 * 8]);
  }
  __syncthreads();

  float out[kHeadDim / 8][4] = {};
  float most[2] = {-INFINITY, -INFINITY};  // per row of this thread, in units of log2
  float sum[2] = {0, 0};                   // over this thread's columns only, until the end
  const int64_t last_query = min(first_query + kTile, at.new_tokens) - 1;
  const int64_t visible = last_key<kScattered>(at, last_query) + 1;
  const int64_t visible_to_all = last_key<kScattered>(at, first_query) + 1;
  const int64_t my_query = first_query + warp * 16 + group;
  const int64_t my_last_key[2] = {last_key<kScattered>(at, my_query), last_key<kScattered>(at, my_query + 8)};

  load_tile<T, kHeadDim>(key_tile, k, at.kv_stride, 0, visible);
  for (int64_t first_key = 0; first_key < visible; first_key += kTile) {
    wait_for_loads();  // the keys have arrived, and no thread reads the previous values any more
    load_tile<T, kHeadDim>(value_tile, v, at.kv_stride, first_key, visible);

    float scores[kTile / 8][4] = {};
#pragma unroll
    for (int d = 0; d < kHeadDim / 16; ++d) {
#pragma unroll
      for (int n = 0; n < kTile / 16; ++n) {
        unsigned b[4];
        load_matrices(b, &key_tile[n * 16 + lane / 16 * 8 + lane % 8][d * 16 + lane / 8 % 2 * 8]);
        multiply(scores[2 * n], queries[d], b[0], b[1], T{});
        multiply(scores[2 * n + 1], queries[d], b[2], b[3], T{});
      }
    }
    // Scores in units of log2, causal: only tiles at the diagonal need the comparison.
    const bool diagonal = first_key + kTile > visible_to_all;
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int64_t key = first_key + n * 8 + in_group * 2 + i % 2;
        scores[n][i] = diagonal && key > my_last_key[i / 2] ? -INFINITY : scores[n][i] * scale_log2;
      }
    }
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      float highest = most[row];
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
        highest = fmaxf(highest, fmaxf(scores[n][2 * row], scores[n][2 * row + 1]));
      }
      highest = fmaxf(highest, __shfl_xor_sync(0xffffffffU, highest, 1));
      highest = fmaxf(highest, __shfl_xor_sync(0xffffffffU, highest, 2));
      const float correction = exp2f(most[row] - highest);
      most[row] = highest;
      sum[row] *= correction;
#pragma unroll
      for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
        for (int i = 2 * row; i < 2 * row + 2; ++i) {
          scores[n][i] = exp2f(scores[n][i] - highest);
          sum[row] += scores[n][i];
        }
      }
#pragma unroll
      for (int d = 0; d < kHeadDim / 8; ++d) {
        out[d][2 * row] *= correction;
        out[d][2 * row + 1] *= correction;
      }
    }
    wait_for_loads();  // the values have arrived, and no thread reads these keys any more
    if (first_key + kTile < visible) {
      load_tile<T, kHeadDim>(key_tile, k, at.kv_stride, first_key + kTile, visible);
    }
#pragma unroll
    for (int n = 0; n < kTile / 16; ++n) {
      // The accumulators of two score tiles are the left operand of the next product.
      const unsigned weights[4] = {packed<T>(scores[2 * n][0], scores[2 * n][1]),
                                   packed<T>(scores[2 * n][2], scores[2 * n][3]),
                                   packed<T>(scores[2 * n + 1][0], scores[2 * n + 1][1]),
                                   packed<T>(scores[2 * n + 1][2], scores[2 * n + 1][3])};
#pragma unroll
      for (int d = 0; d < kHeadDim / 16; ++d) {
        unsigned b[4];
        load_matrices_transposed(b, &value_tile[n * 16 + lane % 16][d * 16 + lane / 16 * 8]);
        multiply(out[2 * d], weights, b[0], b[1], T{});
        multiply(out[2 * d + 1], weights, b[2], b[3], T{});
      }
    }
  }

  T* to = static_cast<T*>(at.out) + sequence * at.new_tokens * at.out_stride + head * kHeadDim;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    sum[row] += __shfl_xor_sync(0xffffffffU, sum[row], 1);
    sum[row] += __shfl_xor_sync(0xffffffffU, sum[row], 2);
    const int64_t query = my_query + row * 8;
    if (query >= at.new_tokens) continue;
    const float inverse = 1.0F / sum[row];
#pragma unroll
    for (int d = 0; d < kHeadDim / 8; ++d) {
      const unsigned pair = packed<T>(out[d][2 * row] * inverse, out[d][2 * row + 1] * inverse);
      memcpy(to + query * at.out_stride + d * 8 + in_group * 2, &pair, sizeof pair);
    }
  }
}

// ---- decode ----

constexpr int kDecodeThreads = 128;
constexpr int kReaders = kDecodeThreads / 16;  // half warps, each of which reads its own keys
constexpr int kAhead = 4;                      // keys in flight per half warp

// The state of one query over some keys has kHeadDim weighted values, the maximum (in units of log2) and the
// sum.
constexpr int kStateExtra = 2;

// Block (split, KV head and group of its queries, sequence). The kGroup queries share every key that is read.
// states[sequence][query head][split][kHeadDim + kStateExtra]
template <typename T, int kHeadDim, int kGroup>
__global__ void __launch_bounds__(kDecodeThreads)
    decode_kernel(Attention at, float scale_log2, int splits, int64_t split_keys, float* states) {
  constexpr int kLaneDims = kHeadDim / 16;
  struct alignas(sizeof(T) * kLaneDims) Piece {
    T values[kLaneDims];
  };
  const int reader = static_cast<int>(threadIdx.x) / 16;
  const int lane = static_cast<int>(threadIdx.x) % 16;
  const int64_t queries_per_kv = at.query_heads / at.kv_heads;
  const int64_t first_head = static_cast<int64_t>(blockIdx.y) * kGroup;
  const int64_t kv_head = first_head / queries_per_kv;
  const int64_t sequence = blockIdx.z;
  const int64_t keys = at.cached_tokens + 1;
  const int64_t begin = blockIdx.x * split_keys;
  const int64_t end = min(begin + split_keys, keys);
  const T* k = static_cast<const T*>(at.k) + sequence * keys * at.kv_stride + kv_head * kHeadDim;
  const T* v = static_cast<const T*>(at.v) + sequence * keys * at.kv_stride + kv_head * kHeadDim;
  const T* q = static_cast<const T*>(at.q) + sequence * at.q_stride + first_head * kHeadDim;

  float query[kGroup][kLaneDims];
  float out[kGroup][kLaneDims] = {};
  float most[kGroup];
  float sum[kGroup] = {};
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    most[g] = -INFINITY;
    const Piece piece = *reinterpret_cast<const Piece*>(q + g * kHeadDim + lane * kLaneDims);
#pragma unroll
    for (int d = 0; d < kLaneDims; ++d) query[g][d] = to_float(piece.values[d]) * scale_log2;
  }
  // Every half warp iterates equally often, so that shuffles see all lanes.
  for (int64_t turn = begin; turn < end; turn += kReaders * kAhead) {
    Piece key[kAhead], value[kAhead];
    bool there[kAhead];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const int64_t index = turn + a * kReaders + reader;
      there[a] = index < end;
      const int64_t row = (there[a] ? index : begin) * at.kv_stride + lane * kLaneDims;
      key[a] = *reinterpret_cast<const Piece*>(k + row);
      value[a] = *reinterpret_cast<const Piece*>(v + row);
    }
#pragma unroll
    for (int g = 0; g < kGroup; ++g) {
      float score[kAhead];
      float highest = most[g];
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        float dot = 0;
#pragma unroll
        for (int d = 0; d < kLaneDims; ++d) dot += query[g][d] * to_float(key[a].values[d]);
#pragma unroll
        for (int lanes = 8; lanes > 0; lanes /= 2) dot += __shfl_xor_sync(0xffffffffU, dot, lanes);
        score[a] = there[a] ? dot : -INFINITY;
        highest = fmaxf(highest, score[a]);
      }
      if (highest == -INFINITY) continue;  // no key yet
      const float correction = exp2f(most[g] - highest);
      most[g] = highest;
      sum[g] *= correction;
#pragma unroll
      for (int d = 0; d < kLaneDims; ++d) out[g][d] *= correction;
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        const float weight = exp2f(score[a] - highest);
        sum[g] += weight;
#pragma unroll
        for (int d = 0; d < kLaneDims; ++d) out[g][d] += weight * to_float(value[a].values[d]);
      }
    }
  }

  // Joins the half warps of the block, one thread per dimension.
  __shared__ float all_out[kReaders][kGroup][kHeadDim];
  __shared__ float all_most[kReaders][kGroup];
  __shared__ float all_sum[kReaders][kGroup];
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
#pragma unroll
    for (int d = 0; d < kLaneDims; ++d) all_out[reader][g][lane * kLaneDims + d] = out[g][d];
    if (lane == 0) {
      all_most[reader][g] = most[g];
      all_sum[reader][g] = sum[g];
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kGroup * kHeadDim; i += kDecodeThreads) {
    const int g = i / kHeadDim;
    const int d = i % kHeadDim;
    float highest = -INFINITY;
    for (int r = 0; r < kReaders; ++r) highest = fmaxf(highest, all_most[r][g]);
    float total = 0;
    float joined = 0;
    for (int r = 0; r < kReaders; ++r) {
      const float weight = highest == -INFINITY ? 0 : exp2f(all_most[r][g] - highest);
      total += weight * all_sum[r][g];
      joined += weight * all_out[r][g][d];
    }
    float* state = states + ((sequence * at.query_heads + first_head + g) * splits + blockIdx.x) *
                                (kHeadDim + kStateExtra);
    state[kStateExtra + d] = joined;
    if (d == 0) {
      state[0] = highest;
      state[1] = total;
    }
  }
}

// Block (query head, sequence), one thread per dimension.
template <typename T, int kHeadDim>
__global__ void join_splits_kernel(Attention at, int splits, const float* states) {
  const int64_t head = blockIdx.x;
  const int64_t sequence = blockIdx.y;
  const int d = static_cast<int>(threadIdx.x);
  const float* state = states + (sequence * at.query_heads + head) * splits * (kHeadDim + kStateExtra);
  float highest = -INFINITY;
  for (int s = 0; s < splits; ++s) highest = fmaxf(highest, state[s * (kHeadDim + kStateExtra)]);
  float total = 0;
  float joined = 0;
  for (int s = 0; s < splits; ++s) {
    const float* one = state + s * (kHeadDim + kStateExtra);
    const float weight = exp2f(one[0] - highest);
    total += weight * one[1];
    joined += weight * one[kStateExtra + d];
  }
  T* out = static_cast<T*>(at.out) + sequence * at.out_stride + head * kHeadDim + d;
  *out = from_float<T>(joined / total);
}

// ---- launches ----

template <typename T, int kHeadDim>
void prefill(const Attention& at, float scale_log2, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((at.new_tokens + kTile - 1) / kTile),
                  static_cast<unsigned>(at.query_heads), static_cast<unsigned>(at.batch));
  if (at.query_positions) {
    start(prefill_kernel<T, kHeadDim, true>, grid, kPrefillThreads, stream, at, scale_log2);
  } else {
    start(prefill_kernel<T, kHeadDim, false>, grid, kPrefillThreads, stream, at, scale_log2);
  }
  require_launch("prefill attention");
}

// Returns enough splits to fill the device four times, with at least 64 keys each.
int splits_of(const Attention& at, int64_t blocks, int sm_count) {
  const int64_t keys = at.cached_tokens + 1;
  const int64_t fill = (4 * sm_count + blocks - 1) / blocks;
  const int64_t state_bytes =
      at.batch * at.query_heads * (at.head_dim + kStateExtra) * static_cast<int64_t>(sizeof(float));
  const int64_t most = std::min((keys + 63) / 64, kAttentionWorkspaceBytes / state_bytes);
  if (most < 1) throw BackendError("decode attention: more sequences and heads than its workspace holds");
  return static_cast<int>(std::clamp<int64_t>(fill, 1, most));
}

template <typename T, int kHeadDim, int kGroup>
void decode(const Attention& at, float scale_log2, int sm_count, float* workspace, cudaStream_t stream) {
  const int64_t groups = at.query_heads / kGroup;
  const int64_t keys = at.cached_tokens + 1;
  const int wanted = splits_of(at, groups * at.batch, sm_count);
  const int64_t split_keys = (keys + wanted - 1) / wanted;
  const auto splits = static_cast<int>((keys + split_keys - 1) / split_keys);  // excludes empty splits
  const dim3 grid(static_cast<unsigned>(splits), static_cast<unsigned>(groups),
                  static_cast<unsigned>(at.batch));
  start(decode_kernel<T, kHeadDim, kGroup>, grid, kDecodeThreads, stream, at, scale_log2, splits, split_keys,
        workspace);
  require_launch("decode attention");
  const dim3 join_grid(static_cast<unsigned>(at.query_heads), static_cast<unsigned>(at.batch));
  start(join_splits_kernel<T, kHeadDim>, join_grid, kHeadDim, stream, at, splits, workspace);
  require_launch("decode attention, splits");
}

template <typename T, int kHeadDim>
void attend(const Attention& at, int sm_count, float* workspace, cudaStream_t stream) {
  const float scale_log2 = kLog2E / std::sqrt(static_cast<float>(kHeadDim));
  if (at.new_tokens > 1 || at.query_positions) return prefill<T, kHeadDim>(at, scale_log2, stream);
  const int64_t queries_per_kv = at.query_heads / at.kv_heads;
  if (queries_per_kv % 8 == 0) return decode<T, kHeadDim, 8>(at, scale_log2, sm_count, workspace, stream);
  if (queries_per_kv % 4 == 0) return decode<T, kHeadDim, 4>(at, scale_log2, sm_count, workspace, stream);
  if (queries_per_kv % 2 == 0) return decode<T, kHeadDim, 2>(at, scale_log2, sm_count, workspace, stream);
  decode<T, kHeadDim, 1>(at, scale_log2, sm_count, workspace, stream);
}

}  // namespace

void launch(const Attention& at, int sm_count, float* workspace, cudaStream_t stream) {
  if (at.new_tokens == 0) return;
  if (at.head_dim != 64 && at.head_dim != 128) {
    throw BackendError("attention: head_dim must be 64 or 128 on the CUDA backend");
  }
  if (at.query_positions && at.batch != 1) throw BackendError("attention: scattered queries of one sequence");
  if (at.q_stride % 8 != 0 || at.kv_stride % 8 != 0 || at.out_stride % 2 != 0) {
    throw BackendError("attention: rows must start at multiples of 16 bytes on the CUDA backend");
  }
  with_type(at.format, [&](auto zero) {
    using T = decltype(zero);
    if (at.head_dim == 64) return attend<T, 64>(at, sm_count, workspace, stream);
    attend<T, 128>(at, sm_count, workspace, stream);
  });
}

}  // namespace kvcap::calibration
