#include "calibration/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "base/check.h"
#include "calibration/number_format.h"
#include "calibration/random_value.h"
#include "cost/identification.h"

namespace kvcap::calibration {
namespace {

using Values = std::vector<double>;

// Half a unit in the last place of inputs and outputs, plus the error of sums of some hundred terms.
double bound_of(Format format) {
  switch (format) {
    case Format::float32:
      return 1e-5;
    case Format::float16:
      return 2e-3;
    case Format::bfloat16:
    case Format::float8:  // whose results are in bfloat16
      return 1.2e-2;
  }
  KVCAP_BUG("unknown format");
}

// Allocates device arrays of one format, random or poisoned, and downloads them.
class Arrays {
 public:
  Arrays(Backend& backend, Format format)
      : backend_(backend), stream_(backend.make_stream()), format_(format) {}

  Stream& stream() { return *stream_; }
  Format format() const { return format_; }

  void* random(int64_t count) {
    void* data = make(count, format_);
    stream_->fill_random(format_, data, count, buffers_.size());
    return data;
  }
  void* poisoned(int64_t count) { return poisoned(count, format_); }
  void* poisoned_result(int64_t count) { return poisoned(count, result_of(format_)); }
  Values result(const void* data, int64_t count) { return values(data, count, result_of(format_)); }
  float* poisoned_floats(int64_t count) { return static_cast<float*>(poisoned(count, Format::float32)); }
  Values values(const void* data, int64_t count) { return values(data, count, format_); }
  Values values_of_floats(const float* data, int64_t count) { return values(data, count, Format::float32); }
  // Copies values to host memory.
  void* on_host(const void* data, int64_t count) {
    buffers_.push_back(backend_.allocate(Place::pinned, count * bytes_of(format_)));
    stream_->copy(buffers_.back().data(), data, buffers_.back().bytes());
    stream_->synchronize();
    return buffers_.back().data();
  }
  const float* floats(const std::vector<float>& list) {
    const auto bytes = std::ssize(list) * static_cast<int64_t>(sizeof(float));
    buffers_.push_back(backend_.allocate(Place::device, bytes));
    stream_->copy(buffers_.back().data(), list.data(), bytes);
    stream_->synchronize();
    return reinterpret_cast<const float*>(buffers_.back().data());
  }
  std::vector<uint8_t> bytes(const void* data, int64_t count) {
    std::vector<uint8_t> host(static_cast<std::size_t>(count));
    stream_->copy(host.data(), data, count);
    stream_->synchronize();
    return host;
  }
  const int32_t* indices(const std::vector<int32_t>& list, Place place) {
    const auto bytes = std::ssize(list) * static_cast<int64_t>(sizeof(int32_t));
    buffers_.push_back(backend_.allocate(place, bytes));
    stream_->copy(buffers_.back().data(), list.data(), bytes);
    stream_->synchronize();
    return reinterpret_cast<const int32_t*>(buffers_.back().data());
  }

 private:
  void* poisoned(int64_t count, Format format) {
    void* data = make(count, format);
    Buffer nan = backend_.allocate(Place::pinned, count * bytes_of(format));
    std::memset(nan.data(), 0xff, static_cast<std::size_t>(nan.bytes()));
    stream_->copy(data, nan.data(), nan.bytes());
    stream_->synchronize();
    return data;
  }
  Values values(const void* data, int64_t count, Format format) {
    const Buffer host = backend_.allocate(Place::pinned, count * bytes_of(format));
    stream_->copy(host.data(), data, host.bytes());
    stream_->synchronize();
    Values values(static_cast<std::size_t>(count));
    for (int64_t i = 0; i < count; ++i) values[i] = value_at(format, host.data(), i);
    return values;
  }
  void* make(int64_t count, Format format) {
    buffers_.push_back(backend_.allocate(Place::device, count * bytes_of(format)));
    return buffers_.back().data();
  }

  Backend& backend_;
  std::unique_ptr<Stream> stream_;
  Format format_;
  std::vector<Buffer> buffers_;
};

double relative_error(const Values& out, const Values& reference) {
  KVCAP_CHECK(out.size() == reference.size());
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    difference += (out[i] - reference[i]) * (out[i] - reference[i]);
    norm += reference[i] * reference[i];
  }
  return std::sqrt(difference / norm);
}

// Returns scales from 0.5 to 1.5 on the device, and their values.
const float* scales(Arrays& arrays, int64_t count, Values* values) {
  std::vector<float> list(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = 1 + random_value(9, i) / 2;
  values->assign(list.begin(), list.end());
  return arrays.floats(list);
}

struct GemmCase {
  int64_t m, n, k;
  Scaling scaling = Scaling::tensor;
};

double gemm_error(Arrays& arrays, const GemmCase& c) {
  Gemm gemm{arrays.format(),
            c.m,
            c.n,
            c.k,
            arrays.random(c.m * c.k),
            arrays.random(c.n * c.k),
            arrays.poisoned_result(c.m * c.n),
            c.scaling};
  Values a_scale(1, 1), w_scale(1, 1);
  if (gemm.format == Format::float8) {
    gemm.a_scale = scales(arrays, gemm.a_scales(), &a_scale);
    gemm.w_scale = scales(arrays, gemm.w_scales(), &w_scale);
  }
  arrays.stream().gemm(gemm);
  const Values a = arrays.values(gemm.a, c.m * c.k);
  const Values w = arrays.values(gemm.w, c.n * c.k);
  const auto scale_at = [&](int64_t i, int64_t j, int64_t l) {
    if (c.scaling == Scaling::tensor) return a_scale[0] * w_scale[0];
    return a_scale[l / 128 * c.m + i] * w_scale[j / 128 * gemm.w_scale_stride() + l / 128];
  };
  Values reference(static_cast<std::size_t>(c.m * c.n), 0.0);
  for (int64_t i = 0; i < c.m; ++i) {
    for (int64_t j = 0; j < c.n; ++j) {
      for (int64_t l = 0; l < c.k; ++l) {
        reference[i * c.n + j] += a[i * c.k + l] * w[j * c.k + l] * scale_at(i, j, l);
      }
    }
  }
  return relative_error(arrays.result(gemm.c, c.m * c.n), reference);
}

// Computes the output of query `i` of head `h` of sequence `s`, which sees `visible` keys, into out[0,
// head_dim).
void attend(const Attention& at, const Values& q, const Values& k, const Values& v, int64_t s, int64_t i,
            int64_t h, int64_t visible, double* out) {
  const int64_t keys = at.cached_tokens + at.new_tokens;
  const int64_t kv_start = s * keys * at.kv_stride + h / (at.query_heads / at.kv_heads) * at.head_dim;
  const double* query = &q[(s * at.new_tokens + i) * at.q_stride + h * at.head_dim];
  Values weights(static_cast<std::size_t>(visible));
  for (int64_t j = 0; j < visible; ++j) {
    for (int64_t d = 0; d < at.head_dim; ++d) weights[j] += query[d] * k[kv_start + j * at.kv_stride + d];
    weights[j] /= std::sqrt(static_cast<double>(at.head_dim));
  }
  const double most = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - most);
  std::fill(out, out + at.head_dim, 0.0);
  for (int64_t j = 0; j < visible; ++j) {
    for (int64_t d = 0; d < at.head_dim; ++d) {
      out[d] += weights[j] / sum * v[kv_start + j * at.kv_stride + d];
    }
  }
}

struct AttentionCase {
  int64_t batch, new_tokens, cached_tokens, query_heads, kv_heads, head_dim;
  bool scattered = false;
};

// Returns `count` of `all` rows, ascending and evenly spread, including the last.
std::vector<int32_t> spread(int64_t count, int64_t all) {
  std::vector<int32_t> rows;
  for (int64_t i = 1; i <= count; ++i) rows.push_back(static_cast<int32_t>(i * all / count - 1));
  return rows;
}

// Keys and values are side by side in one row, as a K+V projection writes them.
double attention_error(Arrays& arrays, const AttentionCase& c) {
  const int64_t keys = c.cached_tokens + c.new_tokens;
  Attention at{arrays.format(), c.batch,    c.new_tokens, c.cached_tokens,
               c.query_heads,   c.kv_heads, c.head_dim};
  at.q_stride = at.out_stride = c.query_heads * c.head_dim;
  at.kv_stride = 2 * c.kv_heads * c.head_dim;
  const int64_t q_count = c.batch * c.new_tokens * at.q_stride;
  const int64_t kv_count = c.batch * keys * at.kv_stride;
  auto* kv = static_cast<std::byte*>(arrays.random(kv_count));
  at.q = arrays.random(q_count);
  at.k = kv;
  at.v = kv + c.kv_heads * c.head_dim * bytes_of(arrays.format());
  at.out = arrays.poisoned(q_count);
  const std::vector<int32_t> positions = spread(c.new_tokens, keys);
  if (c.scattered) at.query_positions = arrays.indices(positions, Place::device);
  arrays.stream().attention(at);
  const Values q = arrays.values(at.q, q_count);
  const Values k = arrays.values(at.k, kv_count);
  const Values v(k.begin() + c.kv_heads * c.head_dim, k.end());
  Values reference(static_cast<std::size_t>(q_count));
  for (int64_t s = 0; s < c.batch; ++s) {
    for (int64_t i = 0; i < c.new_tokens; ++i) {
      const int64_t visible = (c.scattered ? positions[i] : c.cached_tokens + i) + 1;
      for (int64_t h = 0; h < c.query_heads; ++h) {
        attend(at, q, k, v, s, i, h, visible,
               &reference[(s * c.new_tokens + i) * at.out_stride + h * c.head_dim]);
      }
    }
  }
  return relative_error(arrays.values(at.out, q_count), reference);
}

// Uses positions from `first_position` on, or `positions` if given.
double rope_error(Arrays& arrays, int64_t tokens, int64_t heads, int64_t head_dim, int64_t first_position,
                  const std::vector<int32_t>& positions = {}) {
  const int64_t stride = 2 * heads * head_dim;  // the keys of rows that hold keys and values
  const int64_t count = tokens * stride;
  Rope rope{arrays.format(), tokens, heads, head_dim, stride, first_position, arrays.random(count)};
  if (!positions.empty()) rope.positions = arrays.indices(positions, Place::device);
  Values reference = arrays.values(rope.data, count);
  arrays.stream().rope(rope);
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t position = positions.empty() ? first_position + t : positions[t];
    for (int64_t h = 0; h < heads; ++h) {
      double* x = &reference[t * stride + h * head_dim];
      for (int64_t i = 0; i < head_dim / 2; ++i) {
        const double angle = static_cast<double>(position) *
                             std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
        const double low = x[i];
        const double high = x[i + head_dim / 2];
        x[i] = low * std::cos(angle) - high * std::sin(angle);
        x[i + head_dim / 2] = high * std::cos(angle) + low * std::sin(angle);
      }
    }
  }
  return relative_error(arrays.values(rope.data, count), reference);
}

double rms_norm_error(Arrays& arrays, int64_t rows, int64_t width) {
  RmsNorm norm{arrays.format(),
               rows,
               width,
               arrays.random(rows * width),
               arrays.random(width),
               arrays.poisoned(rows * width)};
  arrays.stream().rms_norm(norm);
  Values reference = arrays.values(norm.in, rows * width);
  const Values weight = arrays.values(norm.weight, width);
  for (int64_t row = 0; row < rows; ++row) {
    double* x = &reference[row * width];
    double squares = 0;
    for (int64_t i = 0; i < width; ++i) squares += x[i] * x[i];
    const double rms = std::sqrt(squares / static_cast<double>(width) + static_cast<double>(kNormEpsilon));
    for (int64_t i = 0; i < width; ++i) x[i] *= weight[i] / rms;
  }
  return relative_error(arrays.values(norm.out, rows * width), reference);
}

double silu_error(Arrays& arrays, int64_t rows, int64_t width) {
  SiluMultiply silu{arrays.format(), rows, width, arrays.random(2 * rows * width),
                    arrays.poisoned(rows * width)};
  arrays.stream().silu_multiply(silu);
  const Values in = arrays.values(silu.in, 2 * rows * width);
  Values reference(static_cast<std::size_t>(rows * width));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < width; ++i) {
      const double gate = in[row * 2 * width + i];
      reference[row * width + i] = gate / (1 + std::exp(-gate)) * in[row * 2 * width + width + i];
    }
  }
  return relative_error(arrays.values(silu.out, rows * width), reference);
}

double add_error(Arrays& arrays, int64_t count) {
  Add add{arrays.format(), count, arrays.random(count), arrays.random(count), arrays.poisoned(count)};
  arrays.stream().add(add);
  Values reference = arrays.values(add.a, count);
  const Values b = arrays.values(add.b, count);
  for (int64_t i = 0; i < count; ++i) reference[i] += b[i];
  return relative_error(arrays.values(add.out, count), reference);
}

struct MoveCase {
  const char* what;
  int64_t rows, all_rows, width;  // rows are moved between an array of `rows` and one of `all_rows`
  bool indexed, scatter;
  bool from_host;  // rows and index
};

// Also checks that rows outside the destination stay unchanged.
double move_error(Arrays& arrays, const MoveCase& c) {
  const int64_t in_rows = c.scatter ? c.rows : c.all_rows;
  const int64_t out_rows = c.scatter ? c.all_rows : c.rows;
  const int64_t in_stride = c.width + 24;
  const int64_t out_stride = c.width + 8;
  const std::vector<int32_t> index = spread(c.rows, c.all_rows);
  MoveRows move{arrays.format(),
                c.rows,
                c.width,
                in_stride,
                out_stride,
                arrays.random(in_rows * in_stride),
                arrays.random(out_rows * out_stride)};
  const Values in = arrays.values(move.in, in_rows * in_stride);
  Values reference = arrays.values(move.out, out_rows * out_stride);
  if (c.from_host) move.in = arrays.on_host(move.in, in_rows * in_stride);
  if (c.indexed) move.index = arrays.indices(index, c.from_host ? Place::pinned : Place::device);
  move.scatter = c.scatter;
  arrays.stream().move_rows(move);
  for (int64_t i = 0; i < c.rows; ++i) {
    const int64_t other = c.indexed ? index[i] : i;
    const double* from = &in[(c.scatter ? i : other) * in_stride];
    std::copy(from, from + c.width, &reference[(c.scatter ? other : i) * out_stride]);
  }
  return relative_error(arrays.values(move.out, out_rows * out_stride), reference);
}

// The last KV heads of rows of `all_heads`, with keys head by head or side by side in a row.
struct MassCase {
  int64_t queries, keys, all_heads, kv_heads, group, head_dim;
  bool side_by_side;
};

double mass_error(Arrays& arrays, const MassCase& c) {
  const int64_t first = c.all_heads - c.kv_heads;
  const int64_t q_stride = c.all_heads * c.group * c.head_dim;
  const int64_t k_stride = c.side_by_side ? c.all_heads * c.head_dim : c.head_dim;
  const int64_t k_head_stride = c.side_by_side ? c.head_dim : c.keys * c.head_dim;
  const int64_t q_start = first * c.group * c.head_dim;
  const int64_t k_start = first * k_head_stride;
  auto* q = static_cast<std::byte*>(arrays.random(c.queries * q_stride));
  auto* k = static_cast<std::byte*>(arrays.random(c.keys * c.all_heads * c.head_dim));
  const int64_t bytes = bytes_of(arrays.format());
  float* mass = arrays.poisoned_floats(c.kv_heads * c.keys);
  arrays.stream().attention_mass({arrays.format(), c.queries, c.keys, c.kv_heads, c.group, c.head_dim,
                                  q_stride, k_stride, k_head_stride, q + q_start * bytes, k + k_start * bytes,
                                  mass});
  const Values queries = arrays.values(q, c.queries * q_stride);
  const Values keys = arrays.values(k, c.keys * c.all_heads * c.head_dim);
  Values reference(static_cast<std::size_t>(c.kv_heads * c.keys), 0.0);
  for (int64_t head = 0; head < c.kv_heads * c.group; ++head) {
    for (int64_t i = 0; i < c.queries; ++i) {
      const double* query = &queries[q_start + i * q_stride + head * c.head_dim];
      Values weights(static_cast<std::size_t>(c.keys));
      double sum = 0;
      for (int64_t j = 0; j < c.keys; ++j) {
        const double* key = &keys[k_start + head / c.group * k_head_stride + j * k_stride];
        double score = 0;
        for (int64_t d = 0; d < c.head_dim; ++d) score += query[d] * key[d];
        sum += weights[j] = std::exp(score / std::sqrt(static_cast<double>(c.head_dim)));
      }
      for (int64_t j = 0; j < c.keys; ++j) reference[head / c.group * c.keys + j] += weights[j] / sum;
    }
  }
  return relative_error(arrays.values_of_floats(mass, c.kv_heads * c.keys), reference);
}

double distance_error(Arrays& arrays, int64_t rows, int64_t width) {
  const int64_t a_stride = width + 16;
  const int64_t b_stride = width + 8;
  RowDistance distance{arrays.format(),
                       rows,
                       width,
                       a_stride,
                       b_stride,
                       arrays.random(rows * a_stride),
                       arrays.random(rows * b_stride),
                       arrays.poisoned_floats(rows)};
  arrays.stream().row_distance(distance);
  const Values a = arrays.values(distance.a, rows * a_stride);
  const Values b = arrays.values(distance.b, rows * b_stride);
  Values reference(static_cast<std::size_t>(rows), 0.0);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < width; ++i) {
      reference[row] += std::pow(a[row * a_stride + i] - b[row * b_stride + i], 2);
    }
  }
  return relative_error(arrays.values_of_floats(distance.out, rows), reference);
}

// Every eighth value is the same, of such a size that some of the equal ones are marked and some are not.
double largest_error(Arrays& arrays, int64_t rows, int64_t length, int64_t count) {
  std::vector<float> list(static_cast<std::size_t>(rows * length));
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = random_value(7, i);
  for (auto row = list.begin(); row != list.end(); row += length) {
    std::vector<float> others;
    for (int64_t i = 0; i < length; ++i) {
      if (i % 8 != 0) others.push_back(row[i]);
    }
    std::sort(others.rbegin(), others.rend());
    const int64_t higher = std::clamp<int64_t>(count - length / 16, 0, std::ssize(others) - 1);
    for (int64_t i = 0; i < length; i += 8) row[i] = others[static_cast<std::size_t>(higher)];
  }
  const float* values = arrays.floats(list);
  float* const marks = arrays.poisoned_floats((rows * length + 3) / 4);
  arrays.stream().mark_largest({rows, length, count, values, reinterpret_cast<uint8_t*>(marks)});
  const std::vector<uint8_t> marked = arrays.bytes(marks, rows * length);
  Values out, reference;
  for (int64_t row = 0; row < rows; ++row) {
    const auto first = list.begin() + row * length;
    for (const uint8_t mark : largest(Values(first, first + length), count)) reference.push_back(mark);
  }
  out.assign(marked.begin(), marked.end());
  return relative_error(out, reference);
}

// Launches a captured addition three times: x + 3 y.
double graph_error(Arrays& arrays, int64_t count) {
  Add add{arrays.format(), count, arrays.random(count), arrays.random(count), nullptr};
  add.out = const_cast<void*>(add.a);
  Values reference = arrays.values(add.a, count);
  const Values y = arrays.values(add.b, count);
  arrays.stream().begin_capture();
  arrays.stream().add(add);
  const std::unique_ptr<Graph> graph = arrays.stream().end_capture();
  for (int i = 0; i < 3; ++i) arrays.stream().launch(*graph);
  for (int64_t i = 0; i < count; ++i) reference[i] += 3 * y[i];
  return relative_error(arrays.values(add.out, count), reference);
}

std::string text_of(const GemmCase& c) {
  return "gemm " + std::to_string(c.m) + " x " + std::to_string(c.n) + " x " + std::to_string(c.k);
}

std::string text_of(const AttentionCase& c) {
  const auto number = [](int64_t value) { return std::to_string(value); };
  return number(c.batch) + " x " + number(c.new_tokens) + " queries over " + number(c.cached_tokens) +
         " cached, " + number(c.query_heads) + "/" + number(c.kv_heads) + " heads of " + number(c.head_dim) +
         (c.scattered ? ", scattered" : "");
}

std::string text_of(const MassCase& c) {
  const auto number = [](int64_t value) { return std::to_string(value); };
  return number(c.queries) + " queries on " + number(c.keys) + " keys, " + number(c.kv_heads) + " of " +
         number(c.all_heads) + " heads of " + number(c.head_dim) + ", group " + number(c.group);
}

using ErrorOf = std::function<double(Arrays&)>;

// An operation that fails costs its row: its error is NaN. Throws if the device runs nothing more.
CheckedOperation checked(Backend& backend, Format format, const std::string& what, double bound,
                         const ErrorOf& error) {
  const std::string text = what + " " + name(format);
  try {
    Arrays arrays(backend, format);
    return {text, error(arrays), bound};
  } catch (const BackendError& failure) {
    backend.make_stream()->synchronize();
    return {text + ": " + failure.what(), std::nan(""), bound};
  }
}

}  // namespace

std::vector<CheckedOperation> check_format(Backend& backend, Format format) {
  std::vector<CheckedOperation> done;
  const auto check_to = [&](double bound, const std::string& what, const ErrorOf& error) {
    done.push_back(checked(backend, format, what, bound, error));
  };
  const auto check = [&](const std::string& what, const ErrorOf& error) {
    check_to(bound_of(format), what, error);
  };
  // The bound of outputs in float32, whatever the format of the inputs.
  const double float_bound = bound_of(Format::float32);
  for (const GemmCase& c : {GemmCase{1, 96, 64}, {37, 96, 64}, {130, 256, 512}}) {
    check(text_of(c), [c](Arrays& arrays) { return gemm_error(arrays, c); });
  }
  constexpr AttentionCase kCases[] = {
      {1, 150, 0, 4, 4, 64},       {1, 128, 128, 4, 2, 128},    {2, 100, 37, 8, 2, 128},
      {1, 2, 700, 4, 1, 64},       {1, 1, 1000, 4, 4, 128},     {3, 1, 515, 8, 2, 128},
      {5, 1, 0, 8, 1, 64},         {2, 1, 2000, 16, 2, 128},    {1, 150, 550, 4, 2, 128, true},
      {1, 64, 64, 4, 4, 64, true}, {1, 1, 99, 4, 1, 128, true},
  };
  for (const AttentionCase& c : kCases) {
    check("attention " + text_of(c), [c](Arrays& arrays) { return attention_error(arrays, c); });
  }
  check("rope", [](Arrays& arrays) { return rope_error(arrays, 50, 3, 128, 700); });
  check("rope of 6", [](Arrays& arrays) { return rope_error(arrays, 3, 5, 6, 0); });
  check("rope at positions",
        [](Arrays& arrays) { return rope_error(arrays, 50, 3, 128, 0, spread(50, 3000)); });
  // Widths that kernels may walk through 16 bytes at a time, and odd ones.
  for (const int64_t width : {1000, 77}) {
    const std::string of = " of " + std::to_string(width);
    check("rms_norm" + of, [width](Arrays& arrays) { return rms_norm_error(arrays, 5, width); });
    check("silu_multiply" + of, [width](Arrays& arrays) { return silu_error(arrays, 5, width); });
    check("add" + of, [width](Arrays& arrays) { return add_error(arrays, 5 * width + 8); });
  }
  constexpr MoveCase kMoves[] = {{"a gather", 70, 300, 128, true, false, false},
                                 {"a gather from the host", 600, 1800, 512, true, false, true},
                                 {"a gather of odd rows", 70, 300, 61, true, false, false},
                                 {"a scatter", 70, 300, 128, true, true, false},
                                 {"a copy from the host", 70, 90, 384, false, false, true}};
  for (const MoveCase& c : kMoves) {
    check_to(0, std::string("move_rows, ") + c.what, [c](Arrays& arrays) { return move_error(arrays, c); });
  }
  constexpr MassCase kMasses[] = {{16, 1000, 3, 3, 1, 128, false},
                                  {9, 150, 8, 5, 4, 128, true},
                                  {7, 64, 4, 3, 2, 64, false},
                                  {1, 3, 4, 4, 8, 64, true}};
  for (const MassCase& c : kMasses) {
    check_to(float_bound, "attention_mass, " + text_of(c),
             [c](Arrays& arrays) { return mass_error(arrays, c); });
  }
  for (const int64_t width : {int64_t{1024}, int64_t{77}}) {
    check_to(float_bound, "row_distance of " + std::to_string(width),
             [width](Arrays& arrays) { return distance_error(arrays, 99, width); });
  }
  for (const auto& [length, count] : {std::array<int64_t, 2>{3000, 750}, {1024, 400}, {77, 1}, {64, 64}}) {
    check_to(0, "mark_largest, " + std::to_string(count) + " of " + std::to_string(length),
             [=, length = length, count = count](Arrays& arrays) {
               return largest_error(arrays, 3, length, count);
             });
  }
  check("graph", [](Arrays& arrays) { return graph_error(arrays, 1000); });
  return done;
}

std::vector<CheckedOperation> check_float8(Backend& backend, Scaling scaling) {
  // cuBLASLt takes rows of 16 bytes, and with block scales numbers of rows that are multiples of 4.
  const std::vector<GemmCase> cases = scaling == Scaling::tensor
                                          ? std::vector<GemmCase>{{1, 96, 64}, {37, 96, 64}, {130, 256, 512}}
                                          : std::vector<GemmCase>{{4, 128, 128}, {36, 320, 640}};
  std::vector<CheckedOperation> done;
  for (GemmCase c : cases) {
    c.scaling = scaling;
    done.push_back(checked(backend, Format::float8,
                           text_of(c) + (scaling == Scaling::tensor ? "" : ", block scales,"),
                           bound_of(Format::float8), [c](Arrays& arrays) { return gemm_error(arrays, c); }));
  }
  return done;
}

std::vector<CheckedOperation> check_backend(Backend& backend) {
  std::vector<CheckedOperation> done;
  for (const Format format : backend.info().formats) {
    for (CheckedOperation& operation : check_format(backend, format)) done.push_back(std::move(operation));
  }
  for (const Scaling scaling : backend.info().float8_scalings) {
    for (CheckedOperation& operation : check_float8(backend, scaling)) done.push_back(std::move(operation));
  }
  if (const std::unique_ptr<Collective> collective = backend.make_collective()) {
    done.push_back(check_all_reduce(*collective));
  }
  return done;
}

CheckedOperation check_all_reduce(Collective& collective) {
  constexpr std::size_t kCount = 100'003;
  std::vector<std::vector<float>> values(static_cast<std::size_t>(collective.devices()),
                                         std::vector<float>(kCount));
  std::vector<double> expected(kCount, 0);
  // Multiples of 1/64 up to 1: float16 holds them and their sums over up to 32 devices exactly.
  for (std::size_t d = 0; d < values.size(); ++d) {
    for (std::size_t i = 0; i < kCount; ++i) {
      values[d][i] = std::nearbyint(64 * random_value(d, i)) / 64;
      expected[i] += values[d][i];
    }
  }
  double difference = 0;
  double size = 0;
  for (const std::vector<float>& sums : collective.all_reduce(values)) {
    for (std::size_t i = 0; i < kCount; ++i) {
      difference += std::pow(sums[i] - expected[i], 2);
      size += std::pow(expected[i], 2);
    }
  }
  return {"all-reduce over " + std::to_string(collective.devices()) + " devices by " + collective.library(),
          std::sqrt(difference / size), 0};
}

}  // namespace kvcap::calibration
