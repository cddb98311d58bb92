#include <bit>

#include "calibration/cuda/gemm.h"

namespace kvcap::calibration {
namespace {

constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;

void require(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw BackendError(std::string("cuBLASLt: ") + what + ": " + cublasLtGetStatusString(status));
  }
}

// The largest power of two, up to 256, that divides the address.
uint32_t alignment_of(const void* data) {
  return uint32_t{1} << std::countr_zero(reinterpret_cast<uintptr_t>(data) | 256);
}

cudaDataType type_of(Format format) {
  switch (format) {
    case Format::float16:
      return CUDA_R_16F;
    case Format::bfloat16:
      return CUDA_R_16BF;
    case Format::float8:
      return CUDA_R_8F_E4M3;
    case Format::float32:
      break;
  }
  throw BackendError("the CUDA backend computes in float16 and bfloat16, and products also in float8");
}

template <typename T>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, T value) {
  require(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value), "description");
}

// The library scales W, its first operand, and A, its second one.
void set_scales(cublasLtMatmulDesc_t description, const Gemm& gemm) {
  if (gemm.format != Format::float8) return;
  set(description, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(gemm.w_scale));
  set(description, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(gemm.a_scale));
}

void set_scaling(cublasLtMatmulDesc_t description, const Gemm& gemm) {
  if (gemm.format != Format::float8) return;
  if (gemm.scaling == Scaling::tensor) {
    // Engines' products of float8 accumulate without the slower, more exact additions.
    set(description, CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1});
    return;
  }
#if CUBLAS_VERSION >= 120900
  set(description, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, int32_t{CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F});
  set(description, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, int32_t{CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F});
#else
  throw BackendError("this program was built with a cuBLASLt older than 12.9, which has no block scales");
#endif
}

cublasLtMatrixLayout_t layout(Format format, int64_t rows, int64_t columns) {
  cublasLtMatrixLayout_t made = nullptr;
  require(cublasLtMatrixLayoutCreate(&made, type_of(format), static_cast<uint64_t>(rows),
                                     static_cast<uint64_t>(columns), rows),
          "layout");
  return made;
}

std::string text_of(const Gemm& gemm) {
  return std::to_string(gemm.m) + " x " + std::to_string(gemm.n) + " x " + std::to_string(gemm.k) + " " +
         name(gemm.format) + (gemm.scaling == Scaling::blocks ? " with block scales" : "");
}

}  // namespace

std::string gemm_library() {
  std::string text = "cuBLASLt";
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int number = 0;
    require(cublasLtGetProperty(part, &number), "version");
    text += (part == MAJOR_VERSION ? " " : ".") + std::to_string(number);
  }
  return text;
}

// The library's block scales are for Hopper alone.
std::vector<Scaling> float8_scalings(int major, int minor) {
  if (10 * major + minor < 89) return {};
  if (CUBLAS_VERSION >= 120900 && major == 9) return {Scaling::tensor, Scaling::blocks};
  return {Scaling::tensor};
}

Products::Products(cudaStream_t stream) : stream_(stream) {
  cublasLtHandle_t made = nullptr;
  require(cublasLtCreate(&made), "handle");
  library_.reset(made);
  workspace_ = allocate_device(kWorkspaceBytes);
}

Products::Key Products::key_of(const Gemm& g) {
  return {g.format, g.scaling, g.m, g.n, g.k, alignment_of(g.w), alignment_of(g.a), alignment_of(g.c)};
}

// The library's matrices are column-major: row-major C[m, n] = A[m, k] W[n, k]^T is C[n, m] = W[k, n]^T
// A[k, m].
Products::Plan Products::make_plan(const Gemm& gemm) const {
  Plan plan;
  cublasLtMatmulDesc_t description = nullptr;
  require(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F), "description");
  plan.description.reset(description);
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T});
  set_scaling(description, gemm);
  set_scales(description, gemm);
  plan.w.reset(layout(gemm.format, gemm.k, gemm.n));
  plan.a.reset(layout(gemm.format, gemm.k, gemm.m));
  plan.c.reset(layout(result_of(gemm.format), gemm.n, gemm.m));

  cublasLtMatmulPreference_t made = nullptr;
  require(cublasLtMatmulPreferenceCreate(&made), "preference");
  const LtHandle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> preference(made);
  const auto prefer = [made](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    require(cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof value), "preference");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kWorkspaceBytes});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(gemm.w));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(gemm.a));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(gemm.c));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(gemm.c));

  cublasLtMatmulHeuristicResult_t first{};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(library_.get(), description, plan.w.get(), plan.a.get(), plan.c.get(),
                                     plan.c.get(), made, 1, &first, &found);
  const bool has_none = status == CUBLAS_STATUS_SUCCESS && found == 0;
  if (status != CUBLAS_STATUS_SUCCESS || has_none) {
    throw BackendError("cuBLASLt: no algorithm for " + text_of(gemm) + ": " +
                       cublasLtGetStatusString(has_none ? CUBLAS_STATUS_NOT_SUPPORTED : status));
  }
  plan.algorithm = first.algo;
  return plan;
}

void Products::enqueue(const Gemm& gemm) {
  const Key key = key_of(gemm);
  auto found = plans_.find(key);
  if (found == plans_.end()) found = plans_.emplace(key, make_plan(gemm)).first;
  const Plan& plan = found->second;
  set_scales(plan.description.get(), gemm);
  constexpr float kOne = 1;
  constexpr float kZero = 0;
  require(cublasLtMatmul(library_.get(), plan.description.get(), &kOne, gemm.w, plan.w.get(), gemm.a,
                         plan.a.get(), &kZero, gemm.c, plan.c.get(), gemm.c, plan.c.get(), &plan.algorithm,
                         workspace_.data(), kWorkspaceBytes, stream_),
          "gemm");
}

}  // namespace kvcap::calibration
