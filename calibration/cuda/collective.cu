// All-reduce over all GPUs with NCCL, the library that serving engines use for tensor parallelism.
#include <string>
#include <vector>

#include "calibration/cuda/collective.h"
#include "calibration/cuda/support.h"
#ifdef KVCAP_HAS_NCCL
#include <nccl.h>
#endif

namespace kvcap::calibration {

#ifdef KVCAP_HAS_NCCL
namespace {

void require(ncclResult_t result, const char* what) {
  if (result != ncclSuccess)
    throw BackendError(std::string("NCCL: ") + what + ": " + ncclGetErrorString(result));
}

// Selects this device for the following work; restores device 0, which all other code uses.
class OnDevice {
 public:
  explicit OnDevice(int device) { calibration::require(cudaSetDevice(device), "device"); }
  ~OnDevice() { cudaSetDevice(0); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
};

class NcclCollective : public Collective {
 public:
  explicit NcclCollective(int devices) : devices_(devices) {
    for (int d = 0; d < devices; ++d) {
      const OnDevice here(d);
      calibration::require(cudaStreamCreateWithFlags(&members_[d].stream, cudaStreamNonBlocking), "stream");
      calibration::require(cudaMalloc(&members_[d].data, kMostBytes), "device memory");
      calibration::require(cudaMemset(members_[d].data, 0, kMostBytes), "device memory");
    }
    calibration::require(cudaEventCreate(&start_), "event");
    calibration::require(cudaEventCreate(&end_), "event");
    std::vector<ncclComm_t> ranks(static_cast<std::size_t>(devices));
    require(ncclCommInitAll(ranks.data(), devices, nullptr), "communicators");
    for (int d = 0; d < devices; ++d) members_[d].rank = ranks[static_cast<std::size_t>(d)];
  }
  ~NcclCollective() override {
    cudaEventDestroy(start_);
    cudaEventDestroy(end_);
    for (int d = 0; d < devices_; ++d) {
      cudaSetDevice(d);
      if (members_[d].rank) ncclCommDestroy(members_[d].rank);
      cudaFree(members_[d].data);
      if (members_[d].stream) cudaStreamDestroy(members_[d].stream);
    }
    cudaSetDevice(0);
  }
  NcclCollective(const NcclCollective&) = delete;
  NcclCollective& operator=(const NcclCollective&) = delete;

  int64_t devices() const override { return devices_; }
  int64_t most_bytes() const override { return kMostBytes; }
  std::string library() const override {
    int version = 0;
    require(ncclGetVersion(&version), "version");
    return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
  }

  double all_reduce_s(int64_t bytes, int calls) override {
    enqueue(bytes);  // the first call opens connections
    synchronize();
    calibration::require(cudaEventRecord(start_, members_[0].stream), "event");
    for (int i = 0; i < calls; ++i) enqueue(bytes);
    calibration::require(cudaEventRecord(end_, members_[0].stream), "event");
    synchronize();
    float milliseconds = 0;
    calibration::require(cudaEventElapsedTime(&milliseconds, start_, end_), "elapsed time");
    return static_cast<double>(milliseconds) * 1e-3 / calls;
  }

  std::vector<std::vector<float>> all_reduce(std::vector<std::vector<float>> values) override {
    const std::size_t count = values.front().size();
    std::vector<__half> halves(count);
    const std::size_t bytes = count * sizeof(__half);
    for (int d = 0; d < devices_; ++d) {
      const OnDevice here(d);
      const std::vector<float>& own = values[static_cast<std::size_t>(d)];
      for (std::size_t i = 0; i < count; ++i) halves[i] = __float2half_rn(own[i]);
      calibration::require(cudaMemcpy(members_[d].data, halves.data(), bytes, cudaMemcpyHostToDevice),
                           "copy");
    }
    enqueue(static_cast<int64_t>(bytes));
    synchronize();
    for (int d = 0; d < devices_; ++d) {
      const OnDevice here(d);
      calibration::require(cudaMemcpy(halves.data(), members_[d].data, bytes, cudaMemcpyDeviceToHost),
                           "copy");
      calibration::require(cudaMemset(members_[d].data, 0, bytes), "device memory");
      for (std::size_t i = 0; i < count; ++i) {
        values[static_cast<std::size_t>(d)][i] = __half2float(halves[i]);
      }
    }
    return values;
  }

 private:
  static constexpr int64_t kMostBytes = 256 << 20;
  struct Member {
    ncclComm_t rank = nullptr;
    cudaStream_t stream = nullptr;
    void* data = nullptr;
  };

  void enqueue(int64_t bytes) {
    require(ncclGroupStart(), "group");
    for (int d = 0; d < devices_; ++d) {
      require(
          ncclAllReduce(members_[d].data, members_[d].data, static_cast<std::size_t>(bytes) / sizeof(__half),
                        ncclHalf, ncclSum, members_[d].rank, members_[d].stream),
          "all-reduce");
    }
    require(ncclGroupEnd(), "group");
  }
  void synchronize() {
    for (int d = 0; d < devices_; ++d) {
      const OnDevice here(d);
      calibration::require(cudaStreamSynchronize(members_[d].stream), "all-reduce");
    }
  }

  int devices_;
  std::vector<Member> members_ = std::vector<Member>(static_cast<std::size_t>(devices_));
  cudaEvent_t start_ = nullptr, end_ = nullptr;
};

}  // namespace

std::unique_ptr<Collective> make_cuda_collective(int devices) {
  if (devices < 2) return nullptr;
  return std::make_unique<NcclCollective>(devices);
}
#else
std::unique_ptr<Collective> make_cuda_collective(int) { return nullptr; }
#endif

}  // namespace kvcap::calibration
