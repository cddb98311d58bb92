// CPU backend: streams are threads, GEMMs run in Eigen on one thread in float32, copies are memcpy. A GEMM
// uses one core, so that a concurrent copy or read has another.
#include <sys/utsname.h>
#include <unistd.h>

#include <Eigen/Core>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "calibration/backend.h"
#include "calibration/cpu_kernels.h"
#include "calibration/random_value.h"

namespace kvcap::calibration {
namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<void()>;

constexpr int64_t kPageBytes = 4096;

class CpuEvent : public Event {
 public:
  // Counts a record that was enqueued and returns its number.
  int64_t enqueue() {
    const std::scoped_lock lock(mutex_);
    return ++enqueued_;
  }
  // Notifies under the lock, because a waiting thread may destroy the event as soon as it is reached.
  void reach(int64_t record) {
    const std::scoped_lock lock(mutex_);
    reached_ = record;
    time_ = Clock::now();
    changed_.notify_all();
  }
  int64_t latest() const {
    const std::scoped_lock lock(mutex_);
    return enqueued_;
  }
  void wait_for(int64_t record) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_ >= record; });
  }
  void synchronize() override { wait_for(latest()); }
  Clock::time_point time() const {
    const std::scoped_lock lock(mutex_);
    return time_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t enqueued_ = 0;
  int64_t reached_ = 0;
  Clock::time_point time_;
};

struct CpuGraph : Graph {
  std::vector<Work> work;
};

class CpuStream : public Stream {
 public:
  CpuStream() : thread_([this] { run(); }) {}
  ~CpuStream() override {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  CpuStream(const CpuStream&) = delete;
  CpuStream& operator=(const CpuStream&) = delete;

  void copy(void* to, const void* from, int64_t bytes) override {
    enqueue([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
  }
  void zero(void* data, int64_t bytes) override {
    enqueue([=] { std::memset(data, 0, static_cast<std::size_t>(bytes)); });
  }
  void fill_random(Format format, void* data, int64_t count, uint64_t seed) override {
    KVCAP_CHECK(format == Format::float32);
    enqueue([=] {
      for (int64_t i = 0; i < count; ++i) {
        static_cast<float*>(data)[i] = random_value(seed, static_cast<uint64_t>(i));
      }
    });
  }
  void gemm(const Gemm& gemm) override { enqueue_kernel(gemm); }
  void attention(const Attention& attention) override { enqueue_kernel(attention); }
  void rope(const Rope& rope) override { enqueue_kernel(rope); }
  void rms_norm(const RmsNorm& norm) override { enqueue_kernel(norm); }
  void silu_multiply(const SiluMultiply& silu) override { enqueue_kernel(silu); }
  void add(const Add& add) override { enqueue_kernel(add); }
  void move_rows(const MoveRows& move) override { enqueue_kernel(move); }
  void attention_mass(const AttentionMass& mass) override { enqueue_kernel(mass); }
  void row_distance(const RowDistance& distance) override { enqueue_kernel(distance); }
  void mark_largest(const MarkLargest& mark) override {
    enqueue([mark] { compute(mark); });
  }
  void empty_kernel() override {
    enqueue([] {});
  }

  void record(Event& event) override {
    auto& mine = dynamic_cast<CpuEvent&>(event);
    enqueue([&mine, record = mine.enqueue()] { mine.reach(record); });
  }
  void wait(Event& event) override {
    auto& other = dynamic_cast<CpuEvent&>(event);
    enqueue([&other, record = other.latest()] { other.wait_for(record); });
  }
  void synchronize() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
  }

  void begin_capture() override {
    KVCAP_CHECK(!capture_);
    capture_ = std::make_unique<CpuGraph>();
  }
  std::unique_ptr<Graph> end_capture() override {
    KVCAP_CHECK(capture_ != nullptr);
    return std::move(capture_);
  }
  void launch(Graph& graph) override {
    enqueue([&work = dynamic_cast<CpuGraph&>(graph).work] {
      for (const Work& one : work) one();
    });
  }

 private:
  template <typename Kernel>
  void enqueue_kernel(const Kernel& kernel) {
    KVCAP_CHECK(kernel.format == Format::float32);
    enqueue([kernel] { compute(kernel); });
  }
  void enqueue(Work work) {
    if (capture_) {
      capture_->work.push_back(std::move(work));
      return;
    }
    {
      const std::scoped_lock lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !queue_.empty() || ending_; });
      if (queue_.empty()) return;
      const Work work = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      work();
      lock.lock();
      busy_ = false;
      if (queue_.empty()) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool busy_ = false;
  bool ending_ = false;
  std::unique_ptr<CpuGraph> capture_;
  std::thread thread_;  // last: it uses the members above
};

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname system{};
  return uname(&system) == 0 ? std::string(system.machine) + " CPU" : "CPU";
}

double sysconf_or(int name, double otherwise) {
  const long value = sysconf(name);
  return value > 0 ? static_cast<double>(value) : otherwise;
}

class CpuBackend : public Backend {
 public:
  DeviceInfo info() const override {
    DeviceInfo info;
    info.backend = "cpu";
    info.name = cpu_name();
    utsname system{};
    if (uname(&system) == 0) info.software = std::string(system.sysname) + " " + system.release;
    info.software += ", Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
                     std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION) +
                     " with " + Eigen::SimdInstructionSetsInUse();
    info.host_memory_bytes =
        sysconf_or(_SC_PHYS_PAGES, 1 << 20) * sysconf_or(_SC_PAGESIZE, static_cast<double>(kPageBytes));
    info.memory_bytes = info.host_memory_bytes / 2;
    info.cache_bytes = sysconf_or(_SC_LEVEL3_CACHE_SIZE, 32e6);
    info.shared = true;
    info.formats = {Format::float32};
    info.notes = {
        "the GPU of this profile is one thread of the CPU, in float32: a GEMM takes one core on purpose, "
        "so that copies and reads beside it have another",
        "times are minima over batches: other programs interrupt a core",
        "half of the machine's memory stands for the GPU's and half for DRAM; PCIe is memcpy"};
    return info;
  }
  DeviceState state() const override {
    DeviceState state;
    std::ifstream temperature("/sys/class/thermal/thermal_zone0/temp");
    if (double milli = 0; temperature >> milli) state.temperature_c = milli / 1000;
    std::ifstream clock("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
    if (double khz = 0; clock >> khz) state.clock_hz = khz * 1000;
    return state;
  }
  Buffer allocate(Place, int64_t bytes) override {
    const int64_t whole_pages = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    void* data = std::aligned_alloc(kPageBytes, static_cast<std::size_t>(whole_pages));
    if (!data) throw BackendError("no " + std::to_string(bytes) + " bytes of memory");
    std::memset(data, 0, static_cast<std::size_t>(whole_pages));
    return {data, bytes, std::free};
  }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CpuStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CpuEvent>(); }
  double elapsed_s(const Event& start, const Event& end) const override {
    return std::chrono::duration<double>(dynamic_cast<const CpuEvent&>(end).time() -
                                         dynamic_cast<const CpuEvent&>(start).time())
        .count();
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace kvcap::calibration
