#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/machine.h"

namespace kvcap::gpu {
namespace {

// A point of a stream that others may wait for.
struct Point {
  cudaStream_t stream;
  bool reached = false;
  double at_s = 0;
};
using PointRef = std::shared_ptr<Point>;

struct Operation {
  double time_s = 0;
  Work work;
  PointRef reaches;       // at its end
  PointRef waits_for;     // before its begin
  double earliest_s = 0;  // when the host has enqueued it
};

struct Memory {
  int64_t bytes;
  cudaMemoryType type;
  int device;
  void* mapping;
  std::size_t mapped_bytes;
};

Machine the_machine;
std::recursive_mutex mutex;  // of all below, and of blocks
std::map<const std::byte*, Memory> memories;
std::vector<cudaStream_t> streams;
int current_device = 0;
double host_s = 0;
thread_local cudaError_t last_error = cudaSuccess;
cudaError_t fault = cudaSuccess;  // stays, as a device's does
std::string fault_text;
// Since set_machine().
int64_t kernels = 0;
int64_t sets = 0;

cudaError_t failed(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace
}  // namespace kvcap::gpu

struct StandInEvent {
  kvcap::gpu::PointRef latest;
};
struct StandInGraph {
  std::vector<kvcap::gpu::Operation> operations;
};
struct StandInStream {
  std::deque<kvcap::gpu::Operation> waiting;
  double now_s = 0;
  StandInGraph* capture = nullptr;
};

namespace kvcap::gpu {
namespace {

void run_until(cudaStream_t stream, const Point* point);

void run_next(cudaStream_t stream) {
  Operation operation = std::move(stream->waiting.front());
  stream->waiting.pop_front();
  double begin_s = std::max(stream->now_s, operation.earliest_s);
  if (operation.waits_for) {
    if (!operation.waits_for->reached) run_until(operation.waits_for->stream, operation.waits_for.get());
    begin_s = std::max(begin_s, operation.waits_for->at_s);
  }
  stream->now_s = begin_s + operation.time_s;
  try {
    if (operation.work && fault == cudaSuccess) operation.work();
  } catch (const KernelFault& error) {
    fault = cudaErrorLaunchFailure;
    fault_text = error.what();
  }
  if (operation.reaches) {
    operation.reaches->reached = true;
    operation.reaches->at_s = stream->now_s;
  }
}

// Runs the stream's work up to the point; all of it without one.
void run_until(cudaStream_t stream, const Point* point) {
  while (!stream->waiting.empty() && !(point && point->reached)) run_next(stream);
}

void run_all() {
  for (const cudaStream_t stream : streams) run_until(stream, nullptr);
}

void add(cudaStream_t stream, Operation operation, bool launched = true) {
  if (stream->capture) {
    stream->capture->operations.push_back(std::move(operation));
    return;
  }
  if (launched) host_s += the_machine.launch_s;
  operation.earliest_s = host_s;
  stream->waiting.push_back(std::move(operation));
  if (the_machine.early) run_until(stream, nullptr);
}

const Memory* memory_of(const void* data, std::size_t bytes, bool* outside) {
  const auto* at = static_cast<const std::byte*>(data);
  *outside = false;
  auto after = memories.upper_bound(at);
  if (after == memories.begin()) return nullptr;
  const auto& [begin, memory] = *std::prev(after);
  if (at >= begin + memory.bytes) return nullptr;
  *outside = at + bytes > begin + memory.bytes;
  return &memory;
}

// Memory that ends, but for what 16 bytes of alignment leave, at a page that nothing may touch.
void* map(std::size_t bytes, cudaMemoryType type) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t used = (bytes + page - 1) / page * page;
  auto* mapping = static_cast<std::byte*>(
      mmap(nullptr, used + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (mapping == MAP_FAILED) return nullptr;
  mprotect(mapping + used, page, PROT_NONE);
  // Pinned memory begins at a page, for O_DIRECT.
  const std::size_t offset = type == cudaMemoryTypeHost ? 0 : used - (bytes + 15) / 16 * 16;
  std::byte* data = mapping + offset;
  if (!the_machine.zeros && type == cudaMemoryTypeDevice && bytes < (16U << 20))
    std::memset(data, 0xff, bytes);  // NaN
  memories[data] = {static_cast<int64_t>(bytes), type, current_device, mapping, used + page};
  return data;
}

cudaError_t release(void* data) {
  if (!data) return cudaSuccess;
  run_all();
  const auto found = memories.find(static_cast<std::byte*>(data));
  if (found == memories.end()) return failed(cudaErrorInvalidValue);
  munmap(found->second.mapping, found->second.mapped_bytes);
  memories.erase(found);
  return cudaSuccess;
}

int64_t used_bytes() {
  int64_t sum = 0;
  for (const auto& [data, memory] : memories) {
    if (memory.type == cudaMemoryTypeDevice && memory.device == current_device) sum += memory.bytes;
  }
  return sum;
}

double copy_time_s(const Memory* to, const Memory* from, std::size_t bytes) {
  const auto size = static_cast<double>(bytes);
  const bool to_device = to && to->type == cudaMemoryTypeDevice;
  const bool from_device = from && from->type == cudaMemoryTypeDevice;
  if (to_device && from_device && to->device != from->device) {
    return the_machine.copy_s + size / the_machine.peer_bytes_per_s;
  }
  if (to_device && from_device) return the_machine.copy_s + 2 * size / the_machine.memory_bytes_per_s;
  return the_machine.copy_s + size / the_machine.host_bytes_per_s;
}

}  // namespace

void set_machine(const Machine& machine) {
  const std::scoped_lock lock(mutex);
  the_machine = machine;
  fault = cudaSuccess;
  last_error = cudaSuccess;
  current_device = 0;
  host_s = 0;
  kernels = sets = 0;
}
int64_t memsets() { return sets; }
const Machine& machine() { return the_machine; }
void break_device(const std::string& error) {
  const std::scoped_lock lock(mutex);
  fault = cudaErrorLaunchFailure;
  fault_text = error;
}

void enqueue(cudaStream_t stream, double time_s, Work work) {
  const std::scoped_lock lock(mutex);
  add(stream, {.time_s = time_s, .work = std::move(work)});
}

void launch(dim3 grid, dim3 block, cudaStream_t stream, Work kernel) {
  const std::scoped_lock lock(mutex);
  const unsigned in_block = block.x * block.y * block.z;
  if (in_block == 0 || in_block > 1024 || grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535 ||
      grid.z > 65535) {
    failed(cudaErrorInvalidConfiguration);
    return;
  }
  if (kernels++ == the_machine.kernels_before_fault) break_device("unspecified launch failure");
  const double all = static_cast<double>(grid.x) * grid.y * grid.z * in_block;
  add(stream, {.time_s = the_machine.kernel_s + all / the_machine.threads_per_s,
               .work = [=, kernel = std::move(kernel)] {
                 run_grid({grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, the_machine.order, kernel);
               }});
}

void enqueue_together(const std::vector<cudaStream_t>& members, double time_s, Work work) {
  const std::scoped_lock lock(mutex);
  std::vector<PointRef> here;
  for (const cudaStream_t stream : members) {
    here.push_back(std::make_shared<Point>(Point{stream}));
    add(stream, {.reaches = here.back()}, false);
  }
  for (std::size_t i = 1; i < members.size(); ++i) add(members[0], {.waits_for = here[i]}, false);
  const auto done = std::make_shared<Point>(Point{members[0]});
  add(members[0], {.time_s = time_s, .work = std::move(work), .reaches = done});
  for (std::size_t i = 1; i < members.size(); ++i) add(members[i], {.waits_for = done}, false);
}

}  // namespace kvcap::gpu

using namespace kvcap::gpu;  // what follows has CUDA's names

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorLaunchFailure:
      return fault_text.c_str();
  }
  return "unknown error";
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaGetDeviceCount(int* count) {
  *count = the_machine.devices;
  return the_machine.driver_error;
}
cudaError_t cudaSetDevice(int device) {
  const std::scoped_lock lock(mutex);
  if (device < 0 || device >= the_machine.devices) return failed(cudaErrorInvalidValue);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  the_machine.name.copy(properties->name, sizeof properties->name - 1);
  std::fill(std::begin(properties->uuid.bytes), std::end(properties->uuid.bytes),
            static_cast<char>(the_machine.uuid_byte));
  properties->totalGlobalMem = static_cast<std::size_t>(the_machine.memory_bytes);
  properties->multiProcessorCount = the_machine.sm_count;
  properties->major = the_machine.capability / 10;
  properties->minor = the_machine.capability % 10;
  properties->l2CacheSize = static_cast<int>(the_machine.cache_bytes);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  // Two transfers a clock of 64 bits.
  *value =
      which == cudaDevAttrGlobalMemoryBusWidth ? 64 : static_cast<int>(the_machine.memory_bytes_per_s / 16e3);
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = the_machine.driver_version;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 12080;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int) {
  std::snprintf(id, static_cast<std::size_t>(bytes), "FFFF:1F:00.0");
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int from, int to) {
  *can = from + to == 3 ? 0 : 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  const std::scoped_lock lock(mutex);
  if (used_bytes() + static_cast<int64_t>(bytes) > the_machine.memory_bytes) {
    return failed(cudaErrorMemoryAllocation);
  }
  *data = map(bytes, cudaMemoryTypeDevice);
  return *data ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* data) {
  const std::scoped_lock lock(mutex);
  return release(data);
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
  const std::scoped_lock lock(mutex);
  *data = map(bytes, cudaMemoryTypeHost);
  return *data ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void* data) {
  const std::scoped_lock lock(mutex);
  return release(data);
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* all_bytes) {
  const std::scoped_lock lock(mutex);
  *all_bytes = static_cast<std::size_t>(the_machine.memory_bytes);
  *free_bytes = *all_bytes - static_cast<std::size_t>(used_bytes());
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  const std::scoped_lock lock(mutex);
  bool outside = false;
  const Memory* memory = memory_of(data, 1, &outside);
  attributes->type = memory ? memory->type : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  bool to_outside = false;
  bool from_outside = false;
  const Memory* to_memory = memory_of(to, bytes, &to_outside);
  const Memory* from_memory = memory_of(from, bytes, &from_outside);
  if (to_outside || from_outside) return failed(cudaErrorInvalidValue);
  const double time_s = copy_time_s(to_memory, from_memory, bytes);
  if (!from_memory) {  // staged: the caller may change it at once
    const auto* begin = static_cast<const std::byte*>(from);
    add(stream, {.time_s = time_s, .work = [to, staged = std::vector<std::byte>(begin, begin + bytes)] {
                   std::memcpy(to, staged.data(), staged.size());
                 }});
    return cudaSuccess;
  }
  add(stream, {.time_s = time_s, .work = [=] { std::memcpy(to, from, bytes); }});
  return to_memory ? cudaSuccess : cudaStreamSynchronize(stream);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  const std::scoped_lock lock(mutex);
  run_all();
  std::memcpy(to, from, bytes);
  return fault;
}
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  bool outside = false;
  if (!memory_of(data, bytes, &outside) || outside) return failed(cudaErrorInvalidValue);
  ++sets;
  add(stream, {.time_s = the_machine.copy_s + static_cast<double>(bytes) / the_machine.memory_bytes_per_s,
               .work = [=] { std::memset(data, value, bytes); }});
  return cudaSuccess;
}
cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  const std::scoped_lock lock(mutex);
  run_all();
  std::memset(data, value, bytes);
  return fault;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const std::scoped_lock lock(mutex);
  *stream = new StandInStream();
  (*stream)->now_s = host_s;
  streams.push_back(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  run_until(stream, nullptr);
  std::erase(streams, stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  run_until(stream, nullptr);
  host_s = std::max(host_s, stream->now_s);
  return fault;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::scoped_lock lock(mutex);
  if (event->latest) add(stream, {.waits_for = event->latest});
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const std::scoped_lock lock(mutex);
  stream->capture = new StandInGraph();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = std::exchange(stream->capture, nullptr);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
  *executable = new StandInGraph(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  double time_s = 0;
  for (const Operation& operation : graph->operations) time_s += operation.time_s;
  add(stream, {.time_s = time_s, .work = [operations = graph->operations] {
                 for (const Operation& operation : operations) {
                   if (operation.work) operation.work();
                 }
               }});
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new StandInEvent();
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::scoped_lock lock(mutex);
  event->latest = std::make_shared<Point>(Point{stream});
  add(stream, {.reaches = event->latest});
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::scoped_lock lock(mutex);
  if (!event->latest) return cudaSuccess;
  if (!event->latest->reached) run_until(event->latest->stream, event->latest.get());
  host_s = std::max(host_s, event->latest->at_s);
  return fault;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const std::scoped_lock lock(mutex);
  if (!start->latest || !end->latest) return failed(cudaErrorInvalidValue);
  if (!start->latest->reached || !end->latest->reached) return failed(cudaErrorNotReady);
  *milliseconds = static_cast<float>(1e3 * (end->latest->at_s - start->latest->at_s));
  return cudaSuccess;
}
