// Backend: a machine as calibration sees it. One compute device with memory of its own, the host's memory,
// streams of work that run beside each other and beside the caller, and events that order and time them.
// The CUDA backend is a GPU; on the CPU backend a stream is a thread, device memory is host memory and a copy
// is memcpy, so that everything that is measured or really performed runs on any machine.
//
// Matrices are row-major; sizes and strides are in elements unless the name says bytes. Weights W[n, k] are
// stored as the rows of the output, as frameworks store them: C[m, n] = A[m, k] W[n, k]^T.
//
// Work that is enqueued reads its operands when it runs: they must outlive it (Stream::synchronize). A fault
// of the device throws BackendError; there is nothing to clean up but to end.
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

enum class Format : uint8_t { float32, float16, bfloat16 };

constexpr int64_t bytes_of(Format format) { return format == Format::float32 ? 4 : 2; }
std::string name(Format format);

// device: of the compute device. pinned: of the host, page-aligned (fit for O_DIRECT) and fit for copies that
// run beside other work. pageable: of the host, as malloc gives it.
enum class Place : uint8_t { device, pinned, pageable };

// Memory that is freed with its owner. Move-only; every page has been touched.
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

// C[m, n] = A[m, k] W[n, k]^T, accumulated in float32.
struct Gemm {
  Format format = Format::float32;
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  const void* w = nullptr;
  void* c = nullptr;
};

// Causal attention with grouped queries: `batch` sequences with `new_tokens` queries each, over
// `cached_tokens` + `new_tokens` keys. Query i sees the keys up to cached_tokens + i. Scores are scaled by
// 1/sqrt(head_dim). Rows are tokens: query h of a token starts h head_dim elements into its row. A row is
// `*_stride` elements after the one before; sequences follow each other without a gap. new_tokens 1 is
// decode. With query_positions (batch 1) the queries are scattered over the keys: query i sees the keys up to
// query_positions[i], which ascend.
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

// Rotary embedding in place: row t is turned by position first_position + t, or positions[t] where given.
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

// Rows from one place to another, either of which may be pinned host memory: out row i is in row index[i]
// (gather), or out row index[i] is in row i (scatter). Without an index rows keep their order.
struct MoveRows {
  Format format = Format::float32;
  int64_t rows = 0, width = 0, in_stride = 0, out_stride = 0;
  const void* in = nullptr;
  void* out = nullptr;
  const int32_t* index = nullptr;
  bool scatter = false;
};

// How much attention keys get: mass[head, key] is the sum over queries of softmax(q k / sqrt(head_dim)) over
// all `keys` keys, in float32, of each KV head's `group` query heads together. Rows of q as in Attention; key
// i of head h begins h k_head_stride + i k_stride elements into k.
struct AttentionMass {
  Format format = Format::float32;
  int64_t queries = 0, keys = 0, kv_heads = 0, group = 1, head_dim = 0;
  int64_t q_stride = 0, k_stride = 0, k_head_stride = 0;
  const void* q = nullptr;
  const void* k = nullptr;
  float* mass = nullptr;
};

// out[row] = the squared distance of row a from row b, in float32.
struct RowDistance {
  Format format = Format::float32;
  int64_t rows = 0, width = 0, a_stride = 0, b_stride = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  float* out = nullptr;
};

// A point in a stream's work, and when it was reached.
class Event {
 public:
  virtual ~Event() = default;
  // Waits until the latest record of the event has been reached.
  virtual void synchronize() = 0;
};

// Work that was captured once and is launched as a whole (a CUDA graph).
class Graph {
 public:
  virtual ~Graph() = default;
};

// A queue of work, done in order. Calls enqueue and return, but copies from and to pageable memory, which may
// wait. One thread at a time may enqueue.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual void copy(void* to, const void* from, int64_t bytes) = 0;  // either place, either way
  virtual void zero(void* data, int64_t bytes) = 0;
  // data[i] = random_value(seed, i), rounded to the format (random_value.h).
  virtual void fill_random(Format format, void* data, int64_t count, uint64_t seed) = 0;

  virtual void gemm(const Gemm& gemm) = 0;
  virtual void attention(const Attention& attention) = 0;
  virtual void rope(const Rope& rope) = 0;
  virtual void rms_norm(const RmsNorm& norm) = 0;
  virtual void silu_multiply(const SiluMultiply& silu) = 0;
  virtual void add(const Add& add) = 0;
  // What only restoring needs; throw BackendError where a backend has none.
  virtual void move_rows(const MoveRows& move);
  virtual void attention_mass(const AttentionMass& mass);
  virtual void row_distance(const RowDistance& distance);
  virtual void empty_kernel() = 0;  // what one launch costs

  virtual void record(Event& event) = 0;
  // Later work of this stream starts after the latest record of `event`, which may be another stream's.
  virtual void wait(Event& event) = 0;
  // Waits until everything enqueued has been done.
  virtual void synchronize() = 0;

  // Between the two, work is noted and not done. Events stay outside.
  virtual void begin_capture() = 0;
  virtual std::unique_ptr<Graph> end_capture() = 0;
  virtual void launch(Graph& graph) = 0;
};

struct DeviceInfo {
  std::string backend;  // "cuda" or "cpu"
  std::string name;
  std::string software;  // driver, library versions
  int64_t count = 1;     // devices of this kind in the machine
  int64_t sm_count = 1;
  double memory_bytes = 0;
  double host_memory_bytes = 0;
  double cache_bytes = 0;  // what must be exceeded for memory to be cold
  // The vendor's figures where they are known.
  std::optional<double> nominal_flops;
  std::optional<double> nominal_bandwidth_bytes_per_s;
  bool shared = false;  // with other programs: times are minima, since interruptions are not the machine's
  std::vector<Format> formats;     // of GEMMs, the usual one first
  std::vector<std::string> notes;  // what a reader of the figures must know
};

// What moves while a machine works; empty where it cannot be read.
struct DeviceState {
  std::optional<double> clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> temperature_c;
  std::optional<double> power_w;
};

// All devices of the machine summing vectors of float16, in place: what tensor parallelism does after the
// attention and after the MLP of every layer.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual int64_t devices() const = 0;
  virtual int64_t most_bytes() const = 0;
  virtual std::string library() const = 0;  // "NCCL 2.27.3"
  // Seconds of one sum of `bytes` a device, the mean of `calls` in a row.
  virtual double all_reduce_s(int64_t bytes, int calls) = 0;
  // values[device][element], all as long as the first; what each device then holds.
  virtual std::vector<std::vector<float>> all_reduce(std::vector<std::vector<float>> values) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual DeviceInfo info() const = 0;
  virtual DeviceState state() const = 0;
  // Throws BackendError where the memory is not there.
  virtual Buffer allocate(Place place, int64_t bytes) = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  // Seconds between the latest records of two events that have both been reached.
  virtual double elapsed_s(const Event& start, const Event& end) const = 0;
  // Reads of a file straight into device memory; nullopt where the machine cannot. `file` was opened with
  // O_DIRECT; returns when all bytes are there.
  virtual bool can_read_direct() const { return false; }
  virtual void read_direct(int file, int64_t offset_bytes, const Buffer& to, int64_t to_offset_bytes,
                           int64_t bytes);
  // Null with one device, or where no library is there.
  virtual std::unique_ptr<Collective> make_collective() { return nullptr; }
  // Bytes per second that one device sends to another and the time of a small message; nullopt with one
  // device.
  virtual std::optional<std::pair<double, double>> peer_link() { return std::nullopt; }
};

std::unique_ptr<Backend> make_cpu_backend();
// Null where the program was built without CUDA or the machine has no device that works; `why` says which.
std::unique_ptr<Backend> make_cuda_backend(std::string* why);

}  // namespace kvcap::calibration
