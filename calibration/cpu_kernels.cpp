#include "calibration/cpu_kernels.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cost/identification.h"

namespace kvcap::calibration {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Rows = Eigen::Map<Matrix, 0, Eigen::OuterStride<>>;
using ConstRows = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;

constexpr int64_t kFewRows = 8;  // up to this many, a GEMM uses matrix-vector products
constexpr int64_t kWeightRows = 16;
constexpr int64_t kQueryBlock = 64;  // queries of one head that share a pass over the keys

ConstRows rows_of(const float* data, int64_t rows, int64_t columns, int64_t stride) {
  return {data, rows, columns, Eigen::OuterStride<>(stride)};
}

// Computes queries [first, first + count) of one head: scores of all keys, softmax, weighted sum of the
// values.
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

// Cached cos and sin of the angles of all positions up to now, [position][pair], as in engines.
class Angles {
 public:
  // Returns the angles of at least the positions below `positions`.
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

}  // namespace

void compute(const Gemm& g) {
  const auto a = rows_of(static_cast<const float*>(g.a), g.m, g.k, g.k);
  const auto w = rows_of(static_cast<const float*>(g.w), g.n, g.k, g.k);
  Rows c(static_cast<float*>(g.c), g.m, g.n, Eigen::OuterStride<>(g.n));
  if (g.m > kFewRows) {
    c.noalias() = a * w.transpose();
    return;
  }
  // Eigen would copy all weights for each product. Instead a few rows are taken one by one over weights that
  // stay in the cache.
  for (int64_t first = 0; first < g.n; first += kWeightRows) {
    const int64_t rows = std::min(kWeightRows, g.n - first);
    for (int64_t i = 0; i < g.m; ++i) {
      c.row(i).segment(first, rows).transpose().noalias() = w.middleRows(first, rows) * a.row(i).transpose();
    }
  }
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

void compute(const MarkLargest& mark) {
  for (int64_t row = 0; row < mark.rows; ++row) {
    const float* const values = mark.values + row * mark.length;
    const std::vector<uint8_t> marked =
        largest(std::vector<double>(values, values + mark.length), mark.count);
    std::copy(marked.begin(), marked.end(), mark.marked + row * mark.length);
  }
}

}  // namespace kvcap::calibration
