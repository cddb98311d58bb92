// The parts of device code that need a CUDA compiler: kernel launches, and instructions that CUDA C++ has no
// name for. Everything else in this folder is C++ that tests also run on the host (tests/gpu).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace kvcap::calibration {

template <typename... Parameters, typename... Arguments>
void start(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
           const Arguments&... arguments) {
  kernel<<<grid, block, 0, stream>>>(static_cast<Parameters>(arguments)...);
}

inline __device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// Copies 16 bytes from global to shared memory, or writes 16 zeros; they are there after wait_for_copies().
inline __device__ void copy_16_bytes(void* shared, const void* global, bool zeros) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
               "l"(__cvta_generic_to_global(global)), "r"(zeros ? 0 : 16)
               : "memory");
}

// Waits for the copies of this thread only.
inline __device__ void wait_for_copies() {
  asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
}

// Loads four 8 x 8 matrices of 16-bit elements: lane l names row l % 8 of matrix l / 8, and receives of each
// matrix the elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4.
inline __device__ void load_matrices(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// The same, of the transposed matrices.
inline __device__ void load_matrices_transposed(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// c[16, 8] += a[16, 16] b[16, 8] by a warp, in the fragments of mma.m16n8k16.
inline __device__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __half) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
inline __device__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                                __nv_bfloat16) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace kvcap::calibration
