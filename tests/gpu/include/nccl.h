// Stand-in of NCCL's header (tests/gpu/libraries.cpp).
#pragma once

#include <cuda_runtime.h>

struct StandInRank;
using ncclComm_t = StandInRank*;
enum ncclResult_t { ncclSuccess = 0, ncclInvalidUsage = 5 };
enum ncclDataType_t { ncclHalf = 6 };
enum ncclRedOp_t { ncclSum = 0 };

const char* ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclGetVersion(int* version);
ncclResult_t ncclCommInitAll(ncclComm_t* ranks, int devices, const int* list);
ncclResult_t ncclCommDestroy(ncclComm_t rank);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t rank, cudaStream_t stream);
