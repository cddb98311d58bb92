// The CPU backend: streams are threads, GEMMs are Eigen's on one thread in float32, copies are memcpy. A GEMM
// takes one core on purpose, so that a copy or a read beside it has another.
#include <sys/utsname.h>
#include <unistd.h>

#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "calibration/backend.h"
#include "calibration/random_value.h"

namespace kvcap::calibration {
namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<void()>;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Rows = Eigen::Map<Matrix, 0, Eigen::OuterStride<>>;
using ConstRows = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kFewRows = 8;  // of a GEMM that is done as products of a matrix and a vector
constexpr int64_t kWeightRows = 16;
constexpr int64_t kQueryBlock = 64;  // queries of one head that share a pass over the keys

ConstRows rows_of(const float* data, int64_t rows, int64_t columns, int64_t stride) {
  return {data, rows, columns, Eigen::OuterStride<>(stride)};
}

void compute(const Gemm& g) {
  const auto a = rows_of(static_cast<const float*>(g.a), g.m, g.k, g.k);
  const auto w = rows_of(static_cast<const float*>(g.w), g.n, g.k, g.k);
  Rows c(static_cast<float*>(g.c), g.m, g.n, Eigen::OuterStride<>(g.n));
  if (g.m > kFewRows) {
    c.noalias() = a * w.transpose();
    return;
  }
  // Eigen would copy all weights for each product: so few rows are taken one by one over weights that stay in
  // the cache meanwhile.
  for (int64_t first = 0; first < g.n; first += kWeightRows) {
    const int64_t rows = std::min(kWeightRows, g.n - first);
    for (int64_t i = 0; i < g.m; ++i) {
      c.row(i).segment(first, rows).transpose().noalias() = w.middleRows(first, rows) * a.row(i).transpose();
    }
  }
}

// Queries [first, first + count) of one head: scores of all keys, softmax, weighted sum of the values.
void attend(const Attention& at, int64_t sequence, int64_t head, int64_t first, int64_t count) {
  const auto visible_to = [&](int64_t query) {
    return at.query_positions ? at.query_positions[first + query] + 1 : at.cached_tokens + first + query + 1;
  };
  const int64_t keys = visible_to(count - 1);
  const int64_t all_keys = at.cached_tokens + at.new_tokens;
  const int64_t kv_head = head / (at.query_heads / at.kv_heads);
  const int64_t q_row = sequence * at.new_tokens + first;
  const int64_t kv_offset = sequence * all_keys * at.kv_stride + kv_head * at.head_dim;
  const auto q = rows_of(static_cast<const float*>(at.q) + q_row * at.q_stride + head * at.head_dim, count,
                         at.head_dim, at.q_stride);
  const auto k = rows_of(static_cast<const float*>(at.k) + kv_offset, keys, at.head_dim, at.kv_stride);
  const auto v = rows_of(static_cast<const float*>(at.v) + kv_offset, keys, at.head_dim, at.kv_stride);
  Matrix scores = q * k.transpose();
  scores *= 1.0F / std::sqrt(static_cast<float>(at.head_dim));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t visible = visible_to(i);
    auto row = scores.row(i);
    const float most = row.head(visible).maxCoeff();
    row.head(visible) = (row.head(visible).array() - most).exp();
    row.tail(keys - visible).setZero();
    row.head(visible) /= row.head(visible).sum();
  }
  Rows out(static_cast<float*>(at.out) + q_row * at.out_stride + head * at.head_dim, count, at.head_dim,
           Eigen::OuterStride<>(at.out_stride));
  out.noalias() = scores * v;
}

void compute(const Attention& at) {
  for (int64_t sequence = 0; sequence < at.batch; ++sequence) {
    for (int64_t head = 0; head < at.query_heads; ++head) {
      for (int64_t first = 0; first < at.new_tokens; first += kQueryBlock) {
        attend(at, sequence, head, first, std::min(kQueryBlock, at.new_tokens - first));
      }
    }
  }
}

// cos and sin of the angles of all positions so far, [position][pair], as engines keep them.
class Angles {
 public:
  // Of positions below `positions` at least; valid as long as the program.
  static std::shared_ptr<const Angles> of(int64_t head_dim, int64_t positions) {
    static std::mutex mutex;
    static std::map<int64_t, std::shared_ptr<const Angles>> known;
    const std::scoped_lock lock(mutex);
    std::shared_ptr<const Angles>& angles = known[head_dim];
    if (!angles || angles->positions_ < positions) {
      angles = std::make_shared<const Angles>(head_dim, std::max<int64_t>(2 * positions, 4096));
    }
    return angles;
  }
  Angles(int64_t head_dim, int64_t positions) : half_(head_dim / 2), positions_(positions) {
    cosine_.reserve(positions * half_);
    sine_.reserve(positions * half_);
    for (int64_t position = 0; position < positions; ++position) {
      for (int64_t i = 0; i < half_; ++i) {
        const double angle = static_cast<double>(position) *
                             std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
        cosine_.push_back(static_cast<float>(std::cos(angle)));
        sine_.push_back(static_cast<float>(std::sin(angle)));
      }
    }
  }
  const float* cosine(int64_t position) const { return cosine_.data() + position * half_; }
  const float* sine(int64_t position) const { return sine_.data() + position * half_; }

 private:
  int64_t half_, positions_;
  std::vector<float> cosine_, sine_;
};

void compute(const Rope& r) {
  const int64_t half = r.head_dim / 2;
  const int64_t last =
      r.positions ? *std::max_element(r.positions, r.positions + r.tokens) : r.first_position + r.tokens - 1;
  const std::shared_ptr<const Angles> angles = Angles::of(r.head_dim, last + 1);
  for (int64_t t = 0; t < r.tokens; ++t) {
    const int64_t position = r.positions ? r.positions[t] : r.first_position + t;
    const float* cosine = angles->cosine(position);
    const float* sine = angles->sine(position);
    for (int64_t h = 0; h < r.heads; ++h) {
      float* x = static_cast<float*>(r.data) + t * r.stride + h * r.head_dim;
      for (int64_t i = 0; i < half; ++i) {
        const float low = x[i];
        const float high = x[i + half];
        x[i] = low * cosine[i] - high * sine[i];
        x[i + half] = high * cosine[i] + low * sine[i];
      }
    }
  }
}

void compute(const RmsNorm& n) {
  const Eigen::Map<const Eigen::RowVectorXf> weight(static_cast<const float*>(n.weight), n.width);
  const auto in = rows_of(static_cast<const float*>(n.in), n.rows, n.width, n.width);
  Rows out(static_cast<float*>(n.out), n.rows, n.width, Eigen::OuterStride<>(n.width));
  for (int64_t row = 0; row < n.rows; ++row) {
    const float mean_square = in.row(row).squaredNorm() / static_cast<float>(n.width);
    out.row(row) = in.row(row).cwiseProduct(weight) / std::sqrt(mean_square + kNormEpsilon);
  }
}

void compute(const SiluMultiply& s) {
  const auto in = rows_of(static_cast<const float*>(s.in), s.rows, 2 * s.width, 2 * s.width);
  Rows out(static_cast<float*>(s.out), s.rows, s.width, Eigen::OuterStride<>(s.width));
  const auto gate = in.leftCols(s.width).array();
  out = (gate / (1.0F + (-gate).exp()) * in.rightCols(s.width).array()).matrix();
}

void compute(const Add& add) {
  using Array = Eigen::Map<const Eigen::ArrayXf>;
  Eigen::Map<Eigen::ArrayXf>(static_cast<float*>(add.out), add.count) =
      Array(static_cast<const float*>(add.a), add.count) + Array(static_cast<const float*>(add.b), add.count);
}

void compute(const MoveRows& move) {
  const auto* in = static_cast<const float*>(move.in);
  auto* out = static_cast<float*>(move.out);
  for (int64_t i = 0; i < move.rows; ++i) {
    const int64_t other = move.index ? move.index[i] : i;
    const int64_t from = move.scatter ? i : other;
    const int64_t to = move.scatter ? other : i;
    std::memcpy(out + to * move.out_stride, in + from * move.in_stride,
                static_cast<std::size_t>(move.width) * sizeof(float));
  }
}

void compute(const AttentionMass& m) {
  for (int64_t head = 0; head < m.kv_heads; ++head) {
    Eigen::Map<Eigen::RowVectorXf> mass(m.mass + head * m.keys, m.keys);
    mass.setZero();
    const auto k =
        rows_of(static_cast<const float*>(m.k) + head * m.k_head_stride, m.keys, m.head_dim, m.k_stride);
    for (int64_t query_head = head * m.group; query_head < (head + 1) * m.group; ++query_head) {
      const auto q = rows_of(static_cast<const float*>(m.q) + query_head * m.head_dim, m.queries, m.head_dim,
                             m.q_stride);
      Matrix scores = q * k.transpose();
      scores *= 1.0F / std::sqrt(static_cast<float>(m.head_dim));
      for (int64_t i = 0; i < m.queries; ++i) {
        scores.row(i) = (scores.row(i).array() - scores.row(i).maxCoeff()).exp();
        mass += scores.row(i) / scores.row(i).sum();
      }
    }
  }
}

void compute(const RowDistance& d) {
  const auto a = rows_of(static_cast<const float*>(d.a), d.rows, d.width, d.a_stride);
  const auto b = rows_of(static_cast<const float*>(d.b), d.rows, d.width, d.b_stride);
  for (int64_t row = 0; row < d.rows; ++row) d.out[row] = (a.row(row) - b.row(row)).squaredNorm();
}

class CpuEvent : public Event {
 public:
  // A record has been enqueued; returns which one it is.
  int64_t enqueue() {
    const std::scoped_lock lock(mutex_);
    return ++enqueued_;
  }
  void reach(int64_t record) {
    {
      const std::scoped_lock lock(mutex_);
      reached_ = record;
      time_ = Clock::now();
    }
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
        "the GPU of this profile is one thread of the CPU, in float32: a GEMM takes one core on purpose, so "
        "that "
        "copies and reads beside it have another",
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
