// Blocks of GPU threads on the host: every thread is a fiber, and a block runs on the caller's thread. Warps
// run one after another, each until all of its lanes wait or have ended, so that what one warp does without a
// barrier another sees late. Used by one thread at a time.
#pragma once

#include <functional>
#include <stdexcept>

namespace kvcap::gpu {

struct Index {
  unsigned x, y, z;
};
inline Index threadIdx, blockIdx, blockDim, gridDim;

// What the order of a grid's work may be on a GPU.
struct Order {
  bool first_to_last = true;  // blocks, warps and lanes
  bool late_copies = true;    // asynchronous copies happen when they are waited for, not at once
};

// A kernel did what a GPU does not define.
class KernelFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Calls `kernel` for every thread of every block.
void run_grid(Index grid, Index block, const Order& order, const std::function<void()>& kernel);

// For kernels. Waits until every thread of the block is here or has ended.
void barrier();
// Waits until the lanes of `mask` are here; then `together` is called once, with what each lane brings (null
// of lanes that the block lacks).
void with_warp(unsigned mask, void* mine, void (*together)(void* const* lanes));
// Copies bytes, or zeros from null, at the latest in finish_copies() of the same thread.
void copy_later(void* to, const void* from, int bytes);
void finish_copies();

}  // namespace kvcap::gpu
