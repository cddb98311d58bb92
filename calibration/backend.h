// Backend is the interface of calibration to a machine: one compute device with its own memory, the host's
// memory, streams of work that run concurrently with each other and with the caller, and events that order
// and time them. The CUDA backend is a GPU. On the CPU backend a stream is a thread, device memory is host
// memory and a copy is memcpy, so that every measurement and restoration runs on any machine.
//
// Matrices are row-major; sizes and strides are in elements unless the name ends in bytes. Weights W[n, k]
// are stored by output row, as in frameworks: C[m, n] = A[m, k] W[n, k]^T.
//
// Enqueued work reads its operands when it runs: they must outlive it (Stream::synchronize). A device fault
// throws BackendError; the program cannot recover from it and must end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace kvcap::calibration {

class BackendError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// float8 (e4m3) is a format of GEMMs alone.
enum class Format : uint8_t { float32, float16, bfloat16, float8 };

constexpr int64_t bytes_of(Format format) {
  return format == Format::float32 ? 4 : format == Format::float8 ? 1 : 2;
}
// Returns the format of a product of two matrices in `format`.
constexpr Format result_of(Format format) { return format == Format::float8 ? Format::bfloat16 : format; }
std::string name(Format format);

// device: memory of the compute device. pinned: host memory, page-aligned (O_DIRECT) and usable for
// asynchronous copies. pageable: host memory from malloc.
enum class Place : uint8_t { device, pinned, pageable };

// Owns memory and frees it. Move-only; every page has been touched.
class Buffer {
 public:
  Buffer() = default;
  Buffer(void* data, int64_t bytes, void (*release)(void*)) : data_(data, release), bytes_(bytes) {}

  int64_t bytes() const { return bytes_; }
  std::byte* data() const { return static_cast<std::byte*>(data_.get()); }
  std::byte* at(int64_t offset_bytes) const { return data() + offset_bytes; }

 private:
  std::unique_ptr<void, void (*)(void*)> data_{nullptr, [](void*) {}};
  int64_t bytes_ = 0;
};

// How many values of float8 share a scale, by which they are multiplied. tensor: all. blocks: 128 consecutive
// values of a row of A, and 128 x 128 values of W.
enum class Scaling : uint8_t { tensor, blocks };

// C[m, n] = A[m, k] W[n, k]^T, accumulated in float32. C has the format result_of(format).
struct Gemm {
  Format format = Format::float32;
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  const void* w = nullptr;
  void* c = nullptr;
  // Of float8 only, on the device; in blocks a_scale[k / 128][m] and w_scale[n / 128][k / 128 padded to 4],
  // as cuBLASLt stores them.
  Scaling scaling = Scaling::tensor;
  const float* a_scale = nullptr;
  const float* w_scale = nullptr;

  static constexpr int64_t kScaledBlock = 128;
  int64_t k_blocks() const { return (k + kScaledBlock - 1) / kScaledBlock; }
  int64_t w_scale_stride() const { return (k_blocks() + 3) / 4 * 4; }
  int64_t a_scales() const { return scaling == Scaling::tensor ? 1 : k_blocks() * m; }
  int64_t w_scales() const {
    return scaling == Scaling::tensor ? 1 : (n + kScaledBlock - 1) / kScaledBlock * w_scale_stride();
  }
};

// Causal attention with grouped queries: `batch` sequences with `new_tokens` queries each, over
// `cached_tokens` + `new_tokens` keys. Query i sees the keys up to cached_tokens + i. Scores are scaled by
// 1/sqrt(head_dim). Rows are tokens: query head h of a token starts h head_dim elements into its row. Rows
// are `*_stride` elements apart; sequences are contiguous. new_tokens 1 is decode. With query_positions
// (batch 1) the queries are scattered over the keys: query i sees the keys up to query_positions[i];
// positions ascend.
struct Attention {
  Format format = Format::float32;
  int64_t batch = 1, new_tokens = 0, cached_tokens = 0;
  int64_t query_heads = 0, kv_heads = 0, head_dim = 0;
  int64_t q_stride = 0, kv_stride = 0, out_stride = 0;
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* out = nullptr;
  const int32_t* query_positions = nullptr;
};

// Rotary embedding in place: row t is rotated by position first_position + t, or by positions[t] if given.
// Pairs are (i, i + head_dim/2), frequencies 10000^(-2i/head_dim).
struct Rope {
  Format format = Format::float32;
  int64_t tokens = 0, heads = 0, head_dim = 0, stride = 0, first_position = 0;
  void* data = nullptr;
  const int32_t* positions = nullptr;
};

// out[rows, width] = in / sqrt(mean(in^2) + kNormEpsilon) * weight[width].
inline constexpr float kNormEpsilon = 1e-5F;
struct RmsNorm {
  Format format = Format::float32;
  int64_t rows = 0, width = 0;
  const void* in = nullptr;
  const void* weight = nullptr;
  void* out = nullptr;
};

// out[rows, width] = silu(gate) up, where in[rows, 2 width] holds gate and up side by side.
struct SiluMultiply {
  Format format = Format::float32;
  int64_t rows = 0, width = 0;
  const void* in = nullptr;
  void* out = nullptr;
};

// out[i] = a[i] + b[i]; out may be a.
struct Add {
  Format format = Format::float32;
  int64_t count = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  void* out = nullptr;
};

// Moves rows between two arrays, either of which may be in pinned host memory: out row i = in row index[i]
// (gather), or out row index[i] = in row i (scatter). Without an index rows keep their order.
struct MoveRows {
  Format format = Format::float32;
  int64_t rows = 0, width = 0, in_stride = 0, out_stride = 0;
  const void* in = nullptr;
  void* out = nullptr;
  const int32_t* index = nullptr;
  bool scatter = false;
};

// Attention that keys receive: mass[head, key] is the sum of softmax(q k / sqrt(head_dim)) over queries and
// over the `group` query heads of KV head `head`, with the softmax over all `keys` keys, in float32. Rows of
// q are as in Attention; key i of head h begins h k_head_stride + i k_stride elements into k.
struct AttentionMass {
  Format format = Format::float32;
  int64_t queries = 0, keys = 0, kv_heads = 0, group = 1, head_dim = 0;
  int64_t q_stride = 0, k_stride = 0, k_head_stride = 0;
  const void* q = nullptr;
  const void* k = nullptr;
  float* mass = nullptr;
};

// out[row] = squared distance of row a from row b, in float32.
struct RowDistance {
  Format format = Format::float32;
  int64_t rows = 0, width = 0, a_stride = 0, b_stride = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  float* out = nullptr;
};

// marked[row, i] = 1 for the `count` largest values[row, i] of each row, else 0; of equal values the first.
struct MarkLargest {
  int64_t rows = 0, length = 0, count = 0;
  const float* values = nullptr;
  uint8_t* marked = nullptr;
};

// A point in a stream's work and the time at which it was reached.
class Event {
 public:
  virtual ~Event() = default;
  // Waits until the latest record of the event has been reached.
  virtual void synchronize() = 0;
};

// Work that is captured once and launched as a whole (a CUDA graph).
class Graph {
 public:
  virtual ~Graph() = default;
};

// A queue of work that runs in order. Calls enqueue and return; only copies from and to pageable memory may
// block. One thread at a time may enqueue.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual void copy(void* to, const void* from, int64_t bytes) = 0;  // between any two places
  virtual void zero(void* data, int64_t bytes) = 0;
  // data[i] = random_value(seed, i), rounded to the format (random_value.h).
  virtual void fill_random(Format format, void* data, int64_t count, uint64_t seed) = 0;

  virtual void gemm(const Gemm& gemm) = 0;
  virtual void attention(const Attention& attention) = 0;
  virtual void rope(const Rope& rope) = 0;
  virtual void rms_norm(const RmsNorm& norm) = 0;
  virtual void silu_multiply(const SiluMultiply& silu) = 0;
  virtual void add(const Add& add) = 0;
  // Operations that only restorations need; throw BackendError if the backend does not implement them.
  virtual void move_rows(const MoveRows& move);
  virtual void attention_mass(const AttentionMass& mass);
  virtual void row_distance(const RowDistance& distance);
  virtual void mark_largest(const MarkLargest& mark);
  virtual void empty_kernel() = 0;  // to measure the cost of a launch

  virtual void record(Event& event) = 0;
  // Delays later work of this stream until the latest record of `event`, possibly in another stream, is
  // reached.
  virtual void wait(Event& event) = 0;
  // Waits until all enqueued work is done.
  virtual void synchronize() = 0;

  // Between these two calls, work is recorded instead of run. Events cannot be recorded meanwhile.
  virtual void begin_capture() = 0;
  virtual std::unique_ptr<Graph> end_capture() = 0;
  virtual void launch(Graph& graph) = 0;
};

struct DeviceInfo {
  std::string backend;  // "cuda" or "cpu"
  std::string name;
  std::string software;  // driver, library versions
  std::string uuid;      // of this very device; empty if it has none
  int64_t count = 1;     // number of such devices in the machine
  int64_t sm_count = 1;
  double memory_bytes = 0;
  double host_memory_bytes = 0;
  double cache_bytes = 0;  // memory beyond this size is cold
  // Figures of the vendor, if known.
  std::optional<double> nominal_flops;
  std::optional<double> nominal_bandwidth_bytes_per_s;
  bool shared = false;          // other programs use the device; then times are minima, without interruptions
  std::vector<Format> formats;  // of all operations, the default first
  std::vector<Scaling> float8_scalings;  // of GEMMs in float8; empty: there are none
  std::vector<std::string> notes;        // notes for readers of the figures
};

// Variable state of the device; a value is empty if it cannot be read.
struct DeviceState {
  std::optional<double> clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> temperature_c;
  std::optional<double> power_w;
  std::string throttling;  // the driver's bits of reasons for low clocks, "0x0000000000000000": none
};

// All-reduce of float16 vectors in place over all devices of the machine: tensor parallelism runs it after
// the attention and after the MLP of every layer.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual int64_t devices() const = 0;
  virtual int64_t most_bytes() const = 0;
  virtual std::string library() const = 0;  // "NCCL 2.27.3"
  // Returns the mean time in seconds of one sum of `bytes` per device over `calls` consecutive calls.
  virtual double all_reduce_s(int64_t bytes, int calls) = 0;
  // Returns what each device holds after the sum of values[device][element]. Vectors have equal lengths.
  virtual std::vector<std::vector<float>> all_reduce(std::vector<std::vector<float>> values) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual DeviceInfo info() const = 0;
  virtual DeviceState state() const = 0;
  // Throws BackendError if there is not enough memory.
  virtual Buffer allocate(Place place, int64_t bytes) = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  // Returns the seconds between the latest records of two events that have been reached.
  virtual double elapsed_s(const Event& start, const Event& end) const = 0;
  // Direct reads from a file into device memory, if the machine supports them. `file` was opened with
  // O_DIRECT; read_direct() returns when all bytes have arrived.
  virtual bool can_read_direct() const { return false; }
  virtual void read_direct(int file, int64_t offset_bytes, const Buffer& to, int64_t to_offset_bytes,
                           int64_t bytes);
  // Returns null if there is one device or no collective library.
  virtual std::unique_ptr<Collective> make_collective() { return nullptr; }
  // Returns the bytes per second from one device to another and the time of a small message in seconds;
  // nullopt if there is one device.
  virtual std::optional<std::pair<double, double>> peer_link() { return std::nullopt; }
};

std::unique_ptr<Backend> make_cpu_backend();
// Returns null if the program was built without CUDA or there is no working device, and the reason in `why`.
std::unique_ptr<Backend> make_cuda_backend(std::string* why);

}  // namespace kvcap::calibration
