// Matrix products by cuBLASLt, with the algorithm that its heuristic ranks first and a workspace of 32 MiB,
// torch's default on Hopper.
#pragma once

#include <cublasLt.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "calibration/cuda/support.h"

namespace kvcap::calibration {

// "cuBLASLt 13.1.0", the loaded library.
std::string gemm_library();
// How products of float8 can be scaled on a device of this compute capability; empty: there are none.
std::vector<Scaling> float8_scalings(int major, int minor);

template <auto destroy>
struct LtDestroy {
  template <typename T>
  void operator()(T* handle) const {
    destroy(handle);
  }
};
template <typename Handle, auto destroy>
using LtHandle = std::unique_ptr<std::remove_pointer_t<Handle>, LtDestroy<destroy>>;

// Enqueues products into one stream.
class Products {
 public:
  // Allocates memory.
  explicit Products(cudaStream_t stream);

  // Throws BackendError if the library has no algorithm.
  void enqueue(const Gemm& gemm);

 private:
  using Layout = LtHandle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
  // What the heuristic sees of a product: format, scaling, m, n, k and the alignments of W, A and C.
  using Key = std::tuple<Format, Scaling, int64_t, int64_t, int64_t, uint32_t, uint32_t, uint32_t>;
  struct Plan {
    LtHandle<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> description;
    Layout w, a, c;
    cublasLtMatmulAlgo_t algorithm;
  };

  static Key key_of(const Gemm& gemm);
  Plan make_plan(const Gemm& gemm) const;

  cudaStream_t stream_;
  LtHandle<cublasLtHandle_t, cublasLtDestroy> library_;
  Buffer workspace_;
  std::map<Key, Plan> plans_;
};

}  // namespace kvcap::calibration
