// CUDA backend: device 0, GEMMs by cuBLASLt, other operations by the kernels in this folder.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "calibration/cuda/collective.h"
#include "calibration/cuda/gemm.h"
#include "calibration/cuda/support.h"
#include "calibration/datasheet.h"
#include "calibration/machine_facts.h"
#ifdef KVCAP_HAS_CUFILE
#include <cufile.h>
#endif

namespace kvcap::calibration {
namespace {

class CudaEvent : public Event {
 public:
  CudaEvent() { require(cudaEventCreate(&event_), "event"); }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void synchronize() override { require(cudaEventSynchronize(event_), "event"); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaGraph : public Graph {
 public:
  explicit CudaGraph(cudaGraph_t graph) {
    const cudaError_t error = cudaGraphInstantiateWithFlags(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    require(error, "graph");
  }
  ~CudaGraph() override { cudaGraphExecDestroy(executable_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  cudaGraphExec_t get() const { return executable_; }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

void free_pinned(void* data) { cudaFreeHost(data); }

class CudaStream : public Stream {
 public:
  explicit CudaStream(int sm_count) : sm_count_(sm_count) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
  }
  ~CudaStream() override {
    cudaStreamSynchronize(stream_);
    products_.reset();
    cudaStreamDestroy(stream_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void copy(void* to, const void* from, int64_t bytes) override {
    require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_), "copy");
  }
  void zero(void* data, int64_t bytes) override {
    require(cudaMemsetAsync(data, 0, static_cast<std::size_t>(bytes), stream_), "zero");
  }
  void fill_random(Format format, void* data, int64_t count, uint64_t seed) override {
    launch_fill_random(format, data, count, seed, stream_);
  }
  void gemm(const Gemm& gemm) override {
    prepare();
    products_->enqueue(gemm);
  }
  void attention(const Attention& attention) override {
    prepare();
    calibration::launch(attention, sm_count_, attention_workspace(), stream_);
  }
  void rope(const Rope& rope) override { calibration::launch(rope, stream_); }
  void rms_norm(const RmsNorm& norm) override { calibration::launch(norm, stream_); }
  void silu_multiply(const SiluMultiply& silu) override { calibration::launch(silu, stream_); }
  void add(const Add& add) override { calibration::launch(add, stream_); }
  void move_rows(const MoveRows& move) override { calibration::launch(move, stream_); }
  void attention_mass(const AttentionMass& mass) override {
    prepare();
    calibration::launch(mass, attention_workspace(), stream_);
  }
  void row_distance(const RowDistance& distance) override { calibration::launch(distance, stream_); }
  void mark_largest(const MarkLargest& mark) override { calibration::launch(mark, stream_); }
  void empty_kernel() override { launch_empty(stream_); }

  void record(Event& event) override {
    require(cudaEventRecord(dynamic_cast<CudaEvent&>(event).get(), stream_), "record");
  }
  void wait(Event& event) override {
    require(cudaStreamWaitEvent(stream_, dynamic_cast<CudaEvent&>(event).get(), 0), "wait");
  }
  void synchronize() override { require(cudaStreamSynchronize(stream_), "stream"); }

  void begin_capture() override {
    prepare();
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
  }
  std::unique_ptr<Graph> end_capture() override {
    cudaGraph_t graph = nullptr;
    require(cudaStreamEndCapture(stream_, &graph), "capture");
    return std::make_unique<CudaGraph>(graph);
  }
  void launch(Graph& graph) override {
    require(cudaGraphLaunch(dynamic_cast<CudaGraph&>(graph).get(), stream_), "graph");
  }

 private:
  // Allocates: not in the constructor, because most streams only copy, and not within a capture.
  void prepare() {
    if (products_) return;
    attention_workspace_ = allocate_device(kAttentionWorkspaceBytes);
    products_ = std::make_unique<Products>(stream_);
  }

  float* attention_workspace() const { return reinterpret_cast<float*>(attention_workspace_.data()); }

  cudaStream_t stream_ = nullptr;
  int sm_count_;
  Buffer attention_workspace_;
  std::unique_ptr<Products> products_;
};

int attribute(cudaDeviceAttr which) {
  int value = 0;
  require(cudaDeviceGetAttribute(&value, which, 0), "attribute");
  return value;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// "GPU-1b2c3d4e...": the bytes that nvidia-smi shows with hyphens.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (const char byte : uuid.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    text += digits;
  }
  return text;
}

// Returns what nvidia-smi prints; empty if the tool is missing or refuses the arguments.
std::string ask_driver_with(const std::string& arguments) {
  FILE* pipe = popen(("nvidia-smi " + arguments + " 2>/dev/null").c_str(), "r");
  if (!pipe) return "";
  std::string text;
  char part[256];
  while (std::fgets(part, sizeof part, pipe)) text += part;
  if (pclose(pipe) != 0) return "";
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// Returns fields of device 0; empty if this driver does not know one of them.
std::string ask_driver(const std::string& query) {
  return ask_driver_with("-i 0 --query-gpu=" + query + " --format=csv,noheader,nounits");
}

// How the device is attached and limited, as far as the driver says so.
std::string attachment_text() {
  std::string text;
  for (const auto& [query, name] : {std::pair("pcie.link.gen.current", "PCIe generation"),
                                    {"pcie.link.width.current", "PCIe lanes"},
                                    {"ecc.mode.current", "ECC"},
                                    {"mig.mode.current", "MIG"},
                                    {"power.limit", "power limit in W"}}) {
    const std::string value = ask_driver(query);
    if (!value.empty()) text += (text.empty() ? "" : ", ") + std::string(name) + " " + value;
  }
  char bus_id[32] = {};
  if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, 0) == cudaSuccess) {
    const std::string node = numa_text(bus_id);
    if (!node.empty()) text += (text.empty() ? "" : ", ") + node;
  }
  return text;
}

bool has_peer_access(int64_t from, int64_t to) {
  int can = 0;
  return cudaDeviceCanAccessPeer(&can, static_cast<int>(from), static_cast<int>(to)) == cudaSuccess &&
         can != 0;
}

std::optional<double> scaled(const std::string& text, double unit) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  return value * unit;
}

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(int count) : count_(count) {
    require(cudaSetDevice(0), "device");
    require(cudaGetDeviceProperties(&properties_, 0), "properties");
    open_direct();
  }
  ~CudaBackend() override { close_direct(); }
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  // "NVIDIA H200 (sm_90)"
  std::string capability_text() const {
    return std::string(properties_.name) + " (sm_" + std::to_string(properties_.major) +
           std::to_string(properties_.minor) + ")";
  }
  DeviceInfo info() const override {
    DeviceInfo info;
    info.backend = "cuda";
    info.name = properties_.name;
    int driver = 0;
    int runtime = 0;
    require(cudaDriverGetVersion(&driver), "driver version");
    require(cudaRuntimeGetVersion(&runtime), "runtime version");
    const std::string release = ask_driver("driver_version");
    info.software = (release.empty() ? "" : "driver " + release + ", ") + "CUDA " + version_text(driver) +
                    " (built with " + version_text(runtime) + "), " + gemm_library();
    info.uuid = uuid_text(properties_.uuid);
    info.count = count_;
    info.sm_count = properties_.multiProcessorCount;
    info.memory_bytes = static_cast<double>(properties_.totalGlobalMem);
    info.host_memory_bytes =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    info.cache_bytes = static_cast<double>(properties_.l2CacheSize);
    info.nominal_flops = datasheet_flops(info.name);
    const double clock_hz = 1e3 * attribute(cudaDevAttrMemoryClockRate);
    const double width_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth) / 8.0;
    if (clock_hz > 0) info.nominal_bandwidth_bytes_per_s = 2 * clock_hz * width_bytes;
    info.formats = {Format::float16, Format::bfloat16};
    info.float8_scalings = float8_scalings(properties_.major, properties_.minor);
    info.notes = {
        "attention by this program's own kernels (prefill by mma.m16n8k16, keys not split over blocks; "
        "decode with keys split over blocks)"};
    if (const std::string attached = attachment_text(); !attached.empty()) info.notes.push_back(attached);
    if (count_ > 1) {
      info.notes.push_back(links_text(ask_driver_with("topo -m"), count_, has_peer_access));
    }
    return info;
  }
  DeviceState state() const override {
    std::istringstream answer(ask_driver("clocks.sm,clocks.mem,temperature.gpu,power.draw"));
    std::string field[4];
    for (std::string& one : field) std::getline(answer, one, ',');
    return {scaled(field[0], 1e6), scaled(field[1], 1e6), scaled(field[2], 1), scaled(field[3], 1),
            ask_driver("clocks_throttle_reasons.active")};
  }
  Buffer allocate(Place place, int64_t bytes) override {
    if (place == Place::device) return allocate_device(bytes);
    if (place == Place::pinned) {
      void* data = nullptr;
      require(cudaHostAlloc(&data, static_cast<std::size_t>(bytes), cudaHostAllocDefault), "pinned memory");
      std::memset(data, 0, static_cast<std::size_t>(bytes));
      return {data, bytes, free_pinned};
    }
    constexpr int64_t kPageBytes = 4096;
    const int64_t whole_pages = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    void* data = std::aligned_alloc(kPageBytes, static_cast<std::size_t>(whole_pages));
    if (!data) throw BackendError("no " + std::to_string(bytes) + " bytes of memory");
    std::memset(data, 0, static_cast<std::size_t>(whole_pages));
    return {data, bytes, std::free};
  }
  std::unique_ptr<Stream> make_stream() override {
    return std::make_unique<CudaStream>(properties_.multiProcessorCount);
  }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CudaEvent>(); }
  double elapsed_s(const Event& start, const Event& end) const override {
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, dynamic_cast<const CudaEvent&>(start).get(),
                                 dynamic_cast<const CudaEvent&>(end).get()),
            "elapsed time");
    return static_cast<double>(milliseconds) * 1e-3;
  }

  std::unique_ptr<Collective> make_collective() override { return make_cuda_collective(count_); }
  std::optional<std::pair<double, double>> peer_link() override {
    int reachable = 0;
    if (count_ < 2 || cudaDeviceCanAccessPeer(&reachable, 0, 1) != cudaSuccess || reachable == 0) {
      return std::nullopt;
    }
    constexpr int64_t kLargeBytes = 256 << 20;
    constexpr int64_t kSmallBytes = 256;
    cudaDeviceEnablePeerAccess(1, 0);  // already enabled is not an error
    cudaGetLastError();
    const Buffer from = allocate_device(kLargeBytes);
    require(cudaSetDevice(1), "device 1");
    const Buffer to = allocate_device(kLargeBytes);
    require(cudaSetDevice(0), "device 0");
    const double small_s = peer_copy_s(to, from, kSmallBytes, 200);
    const double large_s = peer_copy_s(to, from, kLargeBytes, 10);
    return std::pair{static_cast<double>(kLargeBytes) / large_s, small_s};
  }

#ifdef KVCAP_HAS_CUFILE
  bool can_read_direct() const override { return direct_; }
  void read_direct(int file, int64_t offset_bytes, const Buffer& to, int64_t to_offset_bytes,
                   int64_t bytes) override {
    CUfileDescr_t description{};
    description.handle.fd = file;
    description.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
    CUfileHandle_t handle = nullptr;
    if (cuFileHandleRegister(&handle, &description).err != CU_FILE_SUCCESS) {
      throw BackendError("cuFile: the file cannot be registered");
    }
    const ssize_t read =
        cuFileRead(handle, to.data(), static_cast<std::size_t>(bytes), offset_bytes, to_offset_bytes);
    cuFileHandleDeregister(handle);
    if (read != bytes) throw BackendError("cuFile: a read of " + std::to_string(bytes) + " bytes failed");
  }

 private:
  // Without the kernel module cuFile copies through host memory, which would not be a direct read.
  void open_direct() {
    direct_ = std::filesystem::exists("/proc/driver/nvidia-fs") && cuFileDriverOpen().err == CU_FILE_SUCCESS;
  }
  void close_direct() {
    if (direct_) cuFileDriverClose();
  }

  bool direct_ = false;
#else
 private:
  void open_direct() {}
  void close_direct() {}
#endif

  double peer_copy_s(const Buffer& to, const Buffer& from, int64_t bytes, int copies) {
    const std::unique_ptr<Stream> stream = make_stream();
    CudaEvent start;
    CudaEvent end;
    stream->copy(to.data(), from.data(), bytes);
    stream->record(start);
    for (int i = 0; i < copies; ++i) stream->copy(to.data(), from.data(), bytes);
    stream->record(end);
    end.synchronize();
    return elapsed_s(start, end) / copies;
  }

  int count_;
  cudaDeviceProp properties_{};
};

}  // namespace

namespace {

// Of an old driver its version, and what this program needs.
std::string driver_text() {
  int driver = 0;
  int runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || cudaRuntimeGetVersion(&runtime) != cudaSuccess)
    return "";
  if (driver == 0) return " (no driver is loaded)";
  if (driver / 1000 >= runtime / 1000) return "";
  return " (the driver supports CUDA " + version_text(driver) + ", this program was built with " +
         version_text(runtime) + ": install a newer driver, or build with CUDA " + version_text(driver) + ")";
}

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(std::string* why) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    *why = error == cudaSuccess ? "no device" : std::string(cudaGetErrorString(error)) + driver_text();
    return nullptr;
  }
  auto backend = std::make_unique<CudaBackend>(count);
  try {
    const std::unique_ptr<Stream> stream = backend->make_stream();
    stream->empty_kernel();
    stream->synchronize();
  } catch (const BackendError& failure) {
    *why = backend->capability_text() + " runs no kernel of this program (" + failure.what() +
           "); CMAKE_CUDA_ARCHITECTURES lists what it is built for";
    return nullptr;
  }
  return backend;
}

}  // namespace kvcap::calibration
