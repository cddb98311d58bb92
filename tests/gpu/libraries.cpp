// Stand-ins of cuBLAS and NCCL: plain loops that take the machine's stated times.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nccl.h>

#include <vector>

#include "gpu/machine.h"

using kvcap::gpu::machine;

// ---- cuBLAS ----

struct StandInCublas {
  cudaStream_t stream = nullptr;
};

namespace {

float value_of(const void* data, cudaDataType type, int64_t i) {
  return type == CUDA_R_16F ? __half2float(static_cast<const __half*>(data)[i])
                            : __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
}

// Column-major c[m, n] = a^T b, where columns of a and b have k elements.
void multiply(int m, int n, int k, const void* a, int a_stride, const void* b, int b_stride, void* c,
              int c_stride, cudaDataType type) {
  const auto rows = static_cast<std::size_t>(m);
  std::vector<float> left(rows * static_cast<std::size_t>(k));  // a row of k after another
  for (std::size_t row = 0; row < rows; ++row) {
    for (int i = 0; i < k; ++i) {
      left[static_cast<std::size_t>(i) * rows + row] =
          value_of(a, type, static_cast<int64_t>(row) * a_stride + i);
    }
  }
  std::vector<float> sums(rows);
  for (int column = 0; column < n; ++column) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (int i = 0; i < k; ++i) {
      const float right = value_of(b, type, int64_t{column} * b_stride + i);
      const float* of_row = &left[static_cast<std::size_t>(i) * rows];
      for (std::size_t row = 0; row < rows; ++row) sums[row] += of_row[row] * right;
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t at = static_cast<std::size_t>(column) * static_cast<std::size_t>(c_stride) + row;
      if (type == CUDA_R_16F) {
        static_cast<__half*>(c)[at] = __float2half_rn(sums[row]);
      } else {
        static_cast<__nv_bfloat16*>(c)[at] = __float2bfloat16_rn(sums[row]);
      }
    }
  }
}

}  // namespace

const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_NOT_SUPPORTED";
}
cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new StandInCublas();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m,
                            int n, int k, const void* alpha, const void* a, cudaDataType a_type, int a_stride,
                            const void* b, cudaDataType b_type, int b_stride, const void* beta, void* c,
                            cudaDataType c_type, int c_stride, cublasComputeType_t, cublasGemmAlgo_t) {
  if (of_a != CUBLAS_OP_T || of_b != CUBLAS_OP_N || a_type != b_type || a_type != c_type ||
      *static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0 || a_stride < k ||
      b_stride < k || c_stride < m || n == machine().failing_rows) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const double flops = 2.0 * m * n * k;
  const double bytes =
      2.0 * (static_cast<double>(m) * n + static_cast<double>(m) * k + static_cast<double>(n) * k);
  const double time_s =
      machine().kernel_s + std::max(flops / machine().flops_per_s, bytes / machine().memory_bytes_per_s);
  const bool computed = flops <= machine().most_computed_flops;
  kvcap::gpu::enqueue(handle->stream, time_s, [=] {
    if (computed) multiply(m, n, k, a, a_stride, b, b_stride, c, c_stride, a_type);
  });
  return CUBLAS_STATUS_SUCCESS;
}

// ---- NCCL ----

struct StandInRank {
  int devices;
};

namespace {

struct Call {
  const void* from;
  void* to;
  std::size_t count;
  cudaStream_t stream;
};
std::vector<Call> group;  // between ncclGroupStart and ncclGroupEnd

void add_up(const std::vector<Call>& calls) {
  for (std::size_t i = 0; i < calls[0].count; ++i) {
    float sum = 0;
    for (const Call& call : calls) sum += __half2float(static_cast<const __half*>(call.from)[i]);
    for (const Call& call : calls) static_cast<__half*>(call.to)[i] = __float2half_rn(sum);
  }
}

}  // namespace

const char* ncclGetErrorString(ncclResult_t) { return "invalid usage"; }
ncclResult_t ncclGetVersion(int* version) {
  *version = 22703;
  return ncclSuccess;
}
ncclResult_t ncclCommInitAll(ncclComm_t* ranks, int devices, const int*) {
  for (int i = 0; i < devices; ++i) ranks[i] = new StandInRank{devices};
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t rank) {
  delete rank;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  group.clear();
  return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t, ncclRedOp_t,
                           ncclComm_t rank, cudaStream_t stream) {
  if (rank->devices != machine().devices) return ncclInvalidUsage;
  group.push_back({from, to, count, stream});
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (static_cast<int>(group.size()) != machine().devices) return ncclInvalidUsage;
  std::vector<cudaStream_t> streams;
  for (const Call& call : group) streams.push_back(call.stream);
  const double devices = machine().devices;
  const double bytes = 2 * static_cast<double>(group[0].count);
  // A ring: every device sends 2 (devices - 1) / devices of its vector.
  kvcap::gpu::enqueue_together(
      streams, machine().all_reduce_s + 2 * (devices - 1) / devices * bytes / machine().peer_bytes_per_s,
      [calls = group] {
        if (static_cast<double>(calls[0].count) <= machine().most_computed_flops) add_up(calls);
      });
  return ncclSuccess;
}
