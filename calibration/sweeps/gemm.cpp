#include <algorithm>
#include <functional>
#include <optional>

#include "calibration/sweeps/sweeps.h"

namespace kvcap::calibration {
namespace {

constexpr int64_t kAlignBytes = 4096;
constexpr int64_t kMostRows = 16384;
constexpr int64_t kRowsThatMatter = 1024;

struct Shape {
  GemmShape shape;
  std::vector<int64_t> rows;
  double cost_s = 0;
};

// Approximate rates of this machine, to estimate the time of points.
struct Rates {
  double flops_per_s = 0;
  double bytes_per_s = 0;
  double call_s(int64_t m, GemmShape shape, int64_t element_bytes) const {
    const auto rows = static_cast<double>(m);
    const auto n = static_cast<double>(shape.n);
    const auto k = static_cast<double>(shape.k);
    const double bytes = static_cast<double>(element_bytes) * (n * k + rows * (n + k));
    return std::max(2 * rows * n * k / flops_per_s, bytes / bytes_per_s) + 5e-6;
  }
};

// What the points of a sweep have in common.
struct Kind {
  Format format = Format::float32;
  Launch launch = Launch::graph;
  Scaling scaling = Scaling::tensor;
};

// The products that the kind has: cuBLASLt needs rows of 16 bytes for float8, and with scales of blocks
// numbers of rows that are multiples of 4.
bool has(const Kind& kind, int64_t m, GemmShape shape) {
  if (kind.format != Format::float8) return true;
  return shape.n % 16 == 0 && shape.k % 16 == 0 && (kind.scaling == Scaling::tensor || m % 4 == 0);
}

struct OperandBytes {
  int64_t weights = kAlignBytes, a = kAlignBytes, c = kAlignBytes, scales = kAlignBytes;

  void add(const Gemm& gemm) {
    const auto scale_bytes = static_cast<int64_t>(sizeof(float));
    weights = std::max(weights, gemm.n * gemm.k * bytes_of(gemm.format) + kAlignBytes);
    a = std::max(a, gemm.m * gemm.k * bytes_of(gemm.format));
    c = std::max(c, gemm.m * gemm.n * bytes_of(result_of(gemm.format)));
    scales = std::max({scales, gemm.a_scales() * scale_bytes, gemm.w_scales() * scale_bytes});
  }
};

// Operands of all points. Consecutive calls use different weights of a pool, so that none is in a cache.
class GemmOperands {
 public:
  GemmOperands(Backend& backend, Stream& stream, const OperandBytes& bytes)
      : weights_(backend.allocate(Place::device, bytes.weights)),
        a_(backend.allocate(Place::device, bytes.a)),
        c_(backend.allocate(Place::device, bytes.c)),
        scales_(backend.allocate(Place::device, bytes.scales)),
        stream_(stream) {}

  void fill(Format format) {
    stream_.fill_random(format, weights_.data(), weights_.bytes() / bytes_of(format), 1);
    stream_.fill_random(format, a_.data(), a_.bytes() / bytes_of(format), 2);
    if (format == Format::float8) {
      stream_.fill_random(Format::float32, scales_.data(), scales_.bytes() / bytes_of(Format::float32), 3);
    }
    stream_.synchronize();
  }
  Gemm gemm(const Kind& kind, int64_t m, GemmShape shape, int64_t number) const {
    const int64_t bytes = shape.n * shape.k * bytes_of(kind.format);
    const int64_t step = (bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
    const int64_t places = std::max<int64_t>(1, weights_.bytes() / step);
    const auto* scales = reinterpret_cast<const float*>(scales_.data());
    return {kind.format,  m,      shape.n, shape.k, a_.data(), weights_.at(number % places * step), c_.data(),
            kind.scaling, scales, scales};
  }

 private:
  Buffer weights_, a_, c_, scales_;
  Stream& stream_;
};

// Measures a square product; a larger one if the smaller is too short to measure.
Rates probe(const Sweep& sweep, Format format) {
  Bench& bench = sweep.bench;
  constexpr int64_t kCopyBytes = 32 << 20;
  constexpr double kLongEnough_s = 1e-3;
  double flops_per_s = 0;
  for (const int64_t side : {1024, 8192}) {
    const Sample gemm = sweep.journal.sample("probe/gemm/" + std::to_string(side), [&] {
      OperandBytes bytes;
      bytes.add({format, side, side, side});
      GemmOperands operands(bench.backend(), bench.stream(), bytes);
      operands.fill(format);
      return bench.time(
          [&](Stream& stream, int64_t i) {
            stream.gemm(operands.gemm({format}, side, {side, side}, i));
          },
          {.batches = 3});
    });
    const auto length = static_cast<double>(side);
    flops_per_s = 2 * length * length * length / gemm.time_s;
    if (gemm.time_s >= kLongEnough_s) break;
  }
  return {flops_per_s, 2.0 * kCopyBytes / time_device_copy(sweep, kCopyBytes).time_s};
}

// Returns the shapes with the row counts whose calls are short enough and whose operands fit.
std::vector<Shape> affordable(const std::vector<MeasuredShape>& wanted, const std::vector<int64_t>& rows,
                              const Rates& rates, const Effort& effort, int64_t element_bytes,
                              double max_bytes, double max_call_s) {
  std::vector<Shape> shapes;
  for (const MeasuredShape& one : wanted) {
    Shape shape{one.shape, {}, 0};
    for (const int64_t m : rows) {
      const double call_s = rates.call_s(m, one.shape, element_bytes);
      const double bytes = static_cast<double>(element_bytes) *
                           static_cast<double>(one.shape.n * one.shape.k + m * (one.shape.n + one.shape.k));
      if (m > one.max_rows || call_s > max_call_s || bytes > max_bytes) continue;
      shape.rows.push_back(m);
      shape.cost_s += effort.cost_s(call_s);
    }
    if (!shape.rows.empty()) shapes.push_back(std::move(shape));
  }
  return shapes;
}

// Returns every `stride`-th shape from the largest down, with the smallest stride that fits the budget.
std::vector<Shape> thinned(const std::vector<Shape>& shapes, double budget_s) {
  for (std::size_t stride = 1; stride < shapes.size(); ++stride) {
    std::vector<Shape> taken;
    double cost_s = 0;
    for (std::size_t i = 0; i < shapes.size(); i += stride) {
      taken.push_back(shapes[shapes.size() - 1 - i]);
      cost_s += taken.back().cost_s;
    }
    if (cost_s <= budget_s) return taken;
  }
  return shapes.empty() ? shapes : std::vector<Shape>{shapes.front()};
}

bool is_power_of_two(int64_t value) { return (value & (value - 1)) == 0; }

std::vector<int64_t> powers_of_two(int64_t most) {
  std::vector<int64_t> rows = staircase_rows();
  std::erase_if(rows, [most](int64_t m) { return m > most || !is_power_of_two(m); });
  return rows;
}

double cost_of(const std::vector<Shape>& shapes) {
  double cost_s = 0;
  for (const Shape& shape : shapes) cost_s += shape.cost_s;
  return cost_s;
}

// Returns the shapes with the finest set of row counts that fits the budget: the staircase, its powers of
// two, or those up to 1024. On a slower machine it returns a few of the shapes that can be measured up to
// 1024 rows.
std::vector<Shape> planned(const std::vector<MeasuredShape>& wanted, const Rates& rates, const Effort& effort,
                           int64_t element_bytes, double max_bytes, double budget_s) {
  const double max_call_s = std::max(budget_s / 50, 0.005);
  std::vector<Shape> shapes;
  for (const std::vector<int64_t>& rows :
       {staircase_rows(), powers_of_two(kMostRows), powers_of_two(kRowsThatMatter)}) {
    shapes = affordable(wanted, rows, rates, effort, element_bytes, max_bytes, max_call_s);
    if (shapes.size() == wanted.size() && cost_of(shapes) <= budget_s) return shapes;
  }
  std::vector<Shape> complete;
  for (const Shape& shape : shapes) {
    if (shape.rows.back() == kRowsThatMatter) complete.push_back(shape);
  }
  return thinned(complete.empty() ? shapes : complete, budget_s);
}

}  // namespace

Sample time_device_copy(const Sweep& sweep, int64_t bytes) {
  return sweep.journal.sample("device copy/" + std::to_string(bytes), [&] {
    Backend& backend = sweep.bench.backend();
    const Buffer from = backend.allocate(Place::device, bytes);
    const Buffer to = backend.allocate(Place::device, bytes);
    return sweep.bench.time([&](Stream& stream, int64_t) { stream.copy(to.data(), from.data(), bytes); }, {});
  });
}

namespace {

// Measures kinds of GEMMs and keeps their times.
class GemmPoints {
 public:
  GemmPoints(const Sweep& sweep, const Effort& effort, const OperandBytes& bytes, GemmSweep* result)
      : sweep_(sweep),
        effort_(effort),
        operands_(sweep.bench.backend(), sweep.bench.stream(), bytes),
        result_(result) {}

  void run(const std::string& what, const Kind& kind, const std::vector<Shape>& shapes, double budget_s) {
    if (kind.format != filled_) operands_.fill(kind.format);
    filled_ = kind.format;
    std::vector<Point> points;
    for (const Shape& shape : shapes) {
      for (const int64_t m : shape.rows) {
        if (has(kind, m, shape.shape)) points.push_back(point(kind, m, shape.shape));
      }
    }
    left_out_ += run_points(sweep_, what, points, budget_s);
  }
  int64_t left_out() const { return left_out_; }

 private:
  Point point(const Kind& kind, int64_t m, GemmShape shape) {
    const std::string key = "gemm/" + name(kind.format) +
                            (kind.scaling == Scaling::blocks ? "/block scales" : "") +
                            (kind.launch == Launch::graph ? "/graph/" : "/eager/") + std::to_string(m) + "/" +
                            std::to_string(shape.n) + "/" + std::to_string(shape.k);
    return {key,
            [=, this] {
              return sweep_.bench.time(
                  [=, this](Stream& stream, int64_t i) { stream.gemm(operands_.gemm(kind, m, shape, i)); },
                  effort_, kind.launch);
            },
            [=, this](const Sample& sample) {
              result_->times.push_back({kind.format, kind.launch, m, shape.n, shape.k, sample, kind.scaling});
            }};
  }

  const Sweep& sweep_;
  Effort effort_;
  GemmOperands operands_;
  GemmSweep* result_;
  std::optional<Format> filled_;
  int64_t left_out_ = 0;
};

// Returns the shapes with the rows that are powers of two, as many shapes as fit the time.
std::vector<Shape> powers_within(std::vector<Shape> shapes, double budget_s,
                                 const std::function<double(int64_t, GemmShape)>& cost_s) {
  for (Shape& shape : shapes) {
    std::erase_if(shape.rows, [](int64_t m) { return !is_power_of_two(m); });
    shape.cost_s = 0;
    for (const int64_t m : shape.rows) shape.cost_s += cost_s(m, shape.shape);
  }
  return thinned(shapes, budget_s);
}

}  // namespace

GemmSweep sweep_gemms(const Sweep& sweep) {
  const double budget_s = sweep.budgets.gemm_s;
  const DeviceInfo info = sweep.bench.backend().info();
  const Format usual = info.formats.front();
  const int64_t element_bytes = bytes_of(usual);
  const Rates rates = probe(sweep, usual);
  const Effort effort{
      .batches = sweep.thorough ? 5 : 3, .batch_s = sweep.thorough ? 5e-4 : 3e-4, .cold = true};

  GemmSweep result;
  // A CPU is too slow for the catalogue's models and measures small ones instead.
  const bool small = info.backend == "cpu";
  const std::vector<MeasuredShape> wanted =
      small ? gemm_shapes(cpu_models(), false) : gemm_shapes(catalogue_models());
  // The default format with graphs takes most of the time. float8, where there is any, takes a fifth, and the
  // others share a fifth: eager launches, other formats, and float8 with scales of blocks.
  const bool has_float8 = !info.float8_scalings.empty();
  const double usual_s = (has_float8 ? 0.6 : 0.8) * budget_s;
  const double others_s = 0.2 * budget_s;
  const auto others =
      static_cast<double>(info.formats.size() + (has_float8 ? info.float8_scalings.size() - 1 : 0));
  const std::vector<Shape> shapes =
      planned(wanted, rates, effort, element_bytes, info.memory_bytes / 8, usual_s);
  result.shapes = static_cast<int64_t>(wanted.size());
  result.shapes_taken = static_cast<int64_t>(shapes.size());

  OperandBytes bytes{.weights = sweep.cold_bytes()};
  int64_t most_rows = 0;
  for (const Shape& shape : shapes) {
    bytes.add({usual, shape.rows.back(), shape.shape.n, shape.shape.k});
    if (has_float8) {
      bytes.add({.format = Format::float8,
                 .m = shape.rows.back(),
                 .n = shape.shape.n,
                 .k = shape.shape.k,
                 .scaling = Scaling::blocks});
    }
    most_rows = std::max(most_rows, shape.rows.back());
  }
  GemmPoints points(sweep, effort, bytes, &result);
  points.run("gemm", {usual}, shapes, usual_s);
  if (points.left_out() > 0) result.shapes_taken = std::min(result.shapes_taken, result.shapes - 1);

  const auto cost_s = [&](int64_t m, GemmShape shape) {
    return effort.cost_s(rates.call_s(m, shape, element_bytes));
  };
  const std::vector<Shape> few = powers_within(shapes, others_s / others, cost_s);
  points.run("gemm eager", {usual, Launch::eager}, few, others_s / others);
  for (std::size_t i = 1; i < info.formats.size(); ++i) {
    points.run("gemm " + name(info.formats[i]), {info.formats[i]}, few, others_s / others);
  }
  for (const Scaling scaling : info.float8_scalings) {
    const bool all = scaling == Scaling::tensor;
    points.run(all ? "gemm float8" : "gemm float8 in blocks", {Format::float8, Launch::graph, scaling},
               all ? powers_within(shapes, others_s, cost_s) : few, all ? others_s : others_s / others);
  }

  char text[240];
  std::snprintf(
      text, sizeof text,
      "%lld of the %lld GEMM shapes that %s were measured, at up to %lld rows; random data, weights out of "
      "cache; %lld points left out for time",
      static_cast<long long>(result.shapes_taken), static_cast<long long>(result.shapes),
      small ? "the twin's models for CPUs have" : "the catalogue's models have on 1, 2, 4 and 8 GPUs",
      static_cast<long long>(most_rows), static_cast<long long>(points.left_out()));
  result.notes.emplace_back(text);
  return result;
}

}  // namespace kvcap::calibration
