// Stand-in of cuBLAS's header (tests/gpu/libraries.cpp).
#pragma once

#include <cuda_runtime.h>

#define CUBLAS_VERSION 0

struct StandInCublas;
using cublasHandle_t = StandInCublas*;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_SUPPORTED = 15 };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };

const char* cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* data, std::size_t bytes);
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m,
                            int n, int k, const void* alpha, const void* a, cudaDataType a_type, int a_stride,
                            const void* b, cudaDataType b_type, int b_stride, const void* beta, void* c,
                            cudaDataType c_type, int c_stride, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm);
