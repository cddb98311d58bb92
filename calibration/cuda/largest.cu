// The largest values of rows, by radix selection: eight bits of the smallest of them are found in each pass.
#include "calibration/cuda/support.h"

namespace kvcap::calibration {
namespace {

constexpr int kSelectThreads = 1024;
constexpr int kBins = 256;
constexpr int kBits = 8;

// Unsigned numbers in the order of the floats.
__device__ uint32_t ordered(float value) {
  const uint32_t bits = __float_as_uint(value);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}

// Counts the row's values that share the bits above `shift` with `found`, by their next eight bits.
__device__ void count_bins(const float* row, int64_t length, uint32_t found, int shift, int* bins) {
  for (int i = threadIdx.x; i < kBins; i += kSelectThreads) bins[i] = 0;
  __syncthreads();
  const int above = shift + kBits;
  for (int64_t i = threadIdx.x; i < length; i += kSelectThreads) {
    const uint32_t value = ordered(row[i]);
    if (above < 32 && value >> above != found >> above) continue;
    atomicAdd(&bins[(value >> shift) % kBins], 1);
  }
  __syncthreads();
}

// Returns how many threads of the block with a lower index have `flag`; *all: how many have it.
__device__ int rank_in_block(bool flag, int* of_warps, int* all) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const unsigned votes = __ballot_sync(0xffffffffU, flag);
  __syncthreads();  // no thread reads the previous counts any more
  if (threadIdx.x % 32 == 0) of_warps[warp] = __popc(votes);
  __syncthreads();
  int before = __popc(votes & ((1U << threadIdx.x % 32) - 1));
  *all = 0;
  for (int w = 0; w < kSelectThreads / 32; ++w) {
    if (w < warp) before += of_warps[w];
    *all += of_warps[w];
  }
  return before;
}

// One block per row.
__global__ void __launch_bounds__(kSelectThreads) mark_largest_kernel(MarkLargest mark) {
  __shared__ int bins[kBins];
  __shared__ int of_warps[kSelectThreads / 32];
  __shared__ uint32_t found;
  __shared__ int left;  // of the values that share the found bits, how many to mark
  const float* const row = mark.values + blockIdx.x * mark.length;
  uint8_t* const marked = mark.marked + blockIdx.x * mark.length;
  if (threadIdx.x == 0) {
    found = 0;
    left = static_cast<int>(mark.count);
  }
  __syncthreads();
  for (int shift = 32 - kBits; shift >= 0; shift -= kBits) {
    count_bins(row, mark.length, found, shift, bins);
    if (threadIdx.x == 0) {
      int bin = kBins - 1;
      while (bins[bin] < left) left -= bins[bin--];
      found |= static_cast<uint32_t>(bin) << shift;
    }
    __syncthreads();
  }
  int equal_before = 0;
  for (int64_t first = 0; first < mark.length; first += kSelectThreads) {
    const int64_t i = first + threadIdx.x;
    const uint32_t value = i < mark.length ? ordered(row[i]) : 0;
    const bool is_equal = i < mark.length && value == found;
    int equal = 0;
    const int rank = equal_before + rank_in_block(is_equal, of_warps, &equal);
    if (i < mark.length) marked[i] = value > found || (is_equal && rank < left);
    equal_before += equal;
  }
}

}  // namespace

void launch(const MarkLargest& mark, cudaStream_t stream) {
  if (mark.rows == 0 || mark.length == 0) return;
  if (mark.count < 1 || mark.count > mark.length) {
    throw BackendError("mark_largest: count must be between 1 and the length of a row");
  }
  start(mark_largest_kernel, static_cast<unsigned>(mark.rows), kSelectThreads, stream, mark);
  require_launch("mark_largest");
}

}  // namespace kvcap::calibration
