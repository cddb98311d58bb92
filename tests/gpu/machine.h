// A GPU machine that is not there: CUDA's runtime, cuBLASLt and NCCL on the host, for tests of
// calibration/cuda. Streams keep their order and events order streams; work runs as late or as early as CUDA
// allows. Time is virtual: every operation takes what is stated here. Device memory ends at a page that
// nothing may touch.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/block.h"

namespace kvcap::gpu {

struct Machine {
  std::string name = "NVIDIA Stand-In";
  int devices = 1;
  int uuid_byte = 0xab;  // 16 of them
  int capability = 90;   // sm_90
  int sm_count = 4;
  int64_t memory_bytes = int64_t{1} << 30;  // of each device
  int64_t cache_bytes = int64_t{1} << 20;
  int driver_version = 12080;
  cudaError_t driver_error = cudaSuccess;  // of every query of devices

  // Times. A copy or a kernel alone takes its constant and its size over its rate.
  double launch_s = 4e-6;  // of the host, for each call that enqueues
  double kernel_s = 2e-6;
  double threads_per_s = 2e9;  // of kernels, which move 8 elements of 16 bits a thread
  double flops_per_s = 100e9;
  double memory_bytes_per_s = 60e9;
  double copy_s = 5e-6;
  double host_bytes_per_s = 10e9;  // either direction
  double peer_bytes_per_s = 20e9;
  double all_reduce_s = 8e-6;
  // Larger products and sums leave their outputs as they are.
  double most_computed_flops = 1e8;
  bool zeros = false;  // those products give 0, and device memory begins with 0, not with NaN

  // Faults; -1: none.
  int64_t kernels_before_fault = -1;  // this many kernels run; the next one is a device fault
  int64_t failing_rows = -1;          // products with so many rows of A are not supported

  Order order;
  bool early = false;  // work runs when it is enqueued, not when something waits for it
};

// The machine until the next call; nothing of an earlier one may be in use.
void set_machine(const Machine& machine);
const Machine& machine();
// How often memory was set since set_machine().
int64_t memsets();
// From now on every wait fails with this error, as after a device fault.
void break_device(const std::string& error);

// ---- for the stand-ins of headers and libraries ----

using Work = std::function<void()>;
void enqueue(cudaStream_t stream, double time_s, Work work);
void launch(dim3 grid, dim3 block, cudaStream_t stream, Work kernel);
// Work on several streams that begins when all of them are there and ends on all at once.
void enqueue_together(const std::vector<cudaStream_t>& streams, double time_s, Work work);

}  // namespace kvcap::gpu
