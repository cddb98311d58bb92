// Stand-ins of cuBLASLt and NCCL: plain loops that take the machine's stated times.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "gpu/machine.h"

using kvcap::gpu::machine;

// ---- cuBLASLt ----

struct StandInLt {};
struct StandInProduct {
  int32_t transposes_a = CUBLAS_OP_N, transposes_b = CUBLAS_OP_N;
  const float* a_scale = nullptr;
  const float* b_scale = nullptr;
  int8_t fast = 0;
  int32_t a_mode = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  int32_t b_mode = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
};
struct StandInLayout {
  cudaDataType type;
  int64_t rows, columns, stride;
};
struct StandInPreference {
  uint64_t workspace_bytes = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

namespace {

// One operand: column-major, transposed or not.
struct Operand {
  const void* data;
  StandInLayout layout;
  bool transposed;
  const float* scale;
  int32_t mode;
};

int64_t element_bytes(cudaDataType type) { return type == CUDA_R_8F_E4M3 ? 1 : 2; }

float float8_value(uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const int fraction = bits & 7;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                   : std::ldexp(1 + static_cast<float>(fraction) / 8, exponent - 7);
  if ((bits & 0x7f) == 0x7f) return std::nanf("");
  return bits < 0x80 ? size : -size;
}

float stored_value(const void* data, cudaDataType type, int64_t i) {
  if (type == CUDA_R_16F) return __half2float(static_cast<const __half*>(data)[i]);
  if (type == CUDA_R_16BF) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
  return float8_value(static_cast<const uint8_t*>(data)[i]);
}

// The scale of element l of row or column `outer`. Vectors of 128: all rows of the first 128 elements, then
// of the next. Blocks: one row of blocks after another, each padded to 4 scales.
float scale_of(const Operand& x, int64_t outer, int64_t l, int64_t outers, int64_t k) {
  if (!x.scale) return 1;
  if (x.mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F) return x.scale[l / 128 * outers + outer];
  if (x.mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F) {
    return x.scale[outer / 128 * ((k + 511) / 512 * 4) + l / 128];
  }
  return *x.scale;
}

// Element l of row `outer` of the first operand, or of column `outer` of the second.
float value_of(const Operand& x, int64_t outer, int64_t l, bool inner_is_row, int64_t outers, int64_t k) {
  const int64_t at = inner_is_row ? outer * x.layout.stride + l : l * x.layout.stride + outer;
  return stored_value(x.data, x.layout.type, at) * scale_of(x, outer, l, outers, k);
}

void multiply(const Operand& a, const Operand& b, void* d, const StandInLayout& of_d) {
  const int64_t m = of_d.rows;
  const int64_t k = a.transposed ? a.layout.rows : a.layout.columns;
  std::vector<float> left(static_cast<std::size_t>(m * k));  // a column of m after another
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t l = 0; l < k; ++l) {
      left[static_cast<std::size_t>(l * m + row)] = value_of(a, row, l, a.transposed, m, k);
    }
  }
  std::vector<float> sums(static_cast<std::size_t>(m));
  for (int64_t column = 0; column < of_d.columns; ++column) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (int64_t l = 0; l < k; ++l) {
      const float right = value_of(b, column, l, !b.transposed, of_d.columns, k);
      const float* of_row = &left[static_cast<std::size_t>(l * m)];
      for (std::size_t row = 0; row < sums.size(); ++row) sums[row] += of_row[row] * right;
    }
    for (std::size_t row = 0; row < sums.size(); ++row) {
      const std::size_t at = static_cast<std::size_t>(column * of_d.stride) + row;
      if (of_d.type == CUDA_R_16F) {
        static_cast<__half*>(d)[at] = __float2half_rn(sums[row]);
      } else {
        static_cast<__nv_bfloat16*>(d)[at] = __float2bfloat16_rn(sums[row]);
      }
    }
  }
}

void set_zeros(void* data, const StandInLayout& of) {
  for (int64_t column = 0; column < of.columns; ++column) {
    std::memset(static_cast<std::byte*>(data) + 2 * column * of.stride, 0,
                2 * static_cast<std::size_t>(of.rows));
  }
}

bool has_block_scales(const StandInProduct& product) {
  return product.a_mode != CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F ||
         product.b_mode != CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
}

// Whether the library has float8 for this product.
bool has_float8(const StandInProduct& product, const StandInLayout& a, const StandInLayout& b,
                const StandInLayout& d, const uint32_t (&alignment)[4]) {
  for (const uint32_t bytes : alignment) {
    if (bytes < 16) return false;
  }
  if (machine().capability < 89 || d.type != CUDA_R_16BF || a.stride % 16 != 0 || b.stride % 16 != 0 ||
      d.stride % 8 != 0 || product.transposes_a != CUBLAS_OP_T || product.transposes_b != CUBLAS_OP_N) {
    return false;
  }
  if (!has_block_scales(product)) return true;
  return machine().capability == 90 && product.fast == 0 && b.columns % 4 == 0 && product.a_scale &&
         product.b_scale && product.a_mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F &&
         product.b_mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
}

bool fits(const StandInProduct& product, const StandInLayout& a, const StandInLayout& b,
          const StandInLayout& d) {
  const bool a_turned = product.transposes_a == CUBLAS_OP_T;
  const bool b_turned = product.transposes_b == CUBLAS_OP_T;
  return (a_turned ? a.columns : a.rows) == d.rows && (b_turned ? b.rows : b.columns) == d.columns &&
         (a_turned ? a.rows : a.columns) == (b_turned ? b.columns : b.rows) && a.stride >= a.rows &&
         b.stride >= b.rows && d.stride >= d.rows && a.type == b.type;
}

template <typename T>
cublasStatus_t take(const void* value, std::size_t bytes, T* to) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS         ? "success"
         : status == CUBLAS_STATUS_INVALID_VALUE ? "an invalid value"
                                                 : "not supported";
}
cublasStatus_t cublasLtGetProperty(libraryPropertyType part, int* value) {
  *value = part == MAJOR_VERSION ? 13 : part == MINOR_VERSION ? 0 : 2;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new StandInLt();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t, cudaDataType) {
  *product = new StandInProduct();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete product;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(value, bytes, &product->transposes_a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take(value, bytes, &product->transposes_b);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return take(value, bytes, &product->a_scale);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return take(value, bytes, &product->b_scale);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return take(value, bytes, &product->fast);
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
      return take(value, bytes, &product->a_mode);
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
      return take(value, bytes, &product->b_mode);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t stride) {
  *layout = new StandInLayout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), stride};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new StandInPreference();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    return take(value, bytes, &preference->workspace_bytes);
  }
  return take(value, bytes, &preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES]);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
  *found = 0;
  if (!fits(*product, *a, *b, *d) || !fits(*product, *a, *b, *c)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool supported = a->type == CUDA_R_8F_E4M3 ? has_float8(*product, *a, *b, *d, preference->alignment)
                                                   : a->type == d->type && !has_block_scales(*product);
  if (!supported || d->columns == machine().failing_rows) return CUBLAS_STATUS_NOT_SUPPORTED;
  *found = 1;
  results->algo = {
      {a->rows, b->rows, d->rows}, {a->columns, b->columns, d->columns}, preference->workspace_bytes, {}};
  std::copy(std::begin(preference->alignment), std::end(preference->alignment), results->algo.alignment);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t of_a, const void* b,
                              cublasLtMatrixLayout_t of_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t of_c, void* d, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  const void* const pointers[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (reinterpret_cast<uintptr_t>(pointers[i]) % algorithm->alignment[i] != 0) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  }
  const StandInLayout* const layouts[] = {of_a, of_b, of_d};
  for (int i = 0; i < 3; ++i) {
    if (layouts[i]->rows != algorithm->rows[i] || layouts[i]->columns != algorithm->columns[i]) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  }
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0 || c != d ||
      of_c != of_d || workspace_bytes < algorithm->workspace_bytes) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const bool turned = product->transposes_a == CUBLAS_OP_T;
  const auto m = static_cast<double>(of_d->rows);
  const auto n = static_cast<double>(of_d->columns);
  const auto k = static_cast<double>(turned ? of_a->rows : of_a->columns);
  const auto in_bytes = static_cast<double>(element_bytes(of_a->type));
  const double flops_per_s = machine().flops_per_s * (of_a->type == CUDA_R_8F_E4M3 ? 2 : 1);
  const double bytes = in_bytes * (m * k + n * k) + 2 * m * n;
  const double time_s =
      machine().kernel_s + std::max(2 * m * n * k / flops_per_s, bytes / machine().memory_bytes_per_s);
  const Operand left{a, *of_a, turned, product->a_scale, product->a_mode};
  const Operand right{b, *of_b, product->transposes_b == CUBLAS_OP_T, product->b_scale, product->b_mode};
  const bool computed = 2 * m * n * k <= machine().most_computed_flops;
  kvcap::gpu::enqueue(stream, time_s, [=, d_layout = *of_d] {
    static_cast<std::byte*>(workspace)[workspace_bytes - 1] = {};  // which must be there
    if (!computed && machine().zeros) set_zeros(d, d_layout);
    if (computed) multiply(left, right, d, d_layout);
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
