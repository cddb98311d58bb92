#include <algorithm>

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

// Operands of all points. Consecutive calls use different weights of a pool, so that none is in a cache.
class GemmOperands {
 public:
  GemmOperands(Backend& backend, Stream& stream, int64_t weight_bytes, int64_t a_bytes, int64_t c_bytes)
      : weights_(backend.allocate(Place::device, weight_bytes)),
        a_(backend.allocate(Place::device, a_bytes)),
        c_(backend.allocate(Place::device, c_bytes)),
        stream_(stream) {}

  void fill(Format format) {
    stream_.fill_random(format, weights_.data(), weights_.bytes() / bytes_of(format), 1);
    stream_.fill_random(format, a_.data(), a_.bytes() / bytes_of(format), 2);
    stream_.synchronize();
  }
  Gemm gemm(Format format, int64_t m, GemmShape shape, int64_t number) const {
    const int64_t bytes = shape.n * shape.k * bytes_of(format);
    const int64_t step = (bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
    const int64_t places = std::max<int64_t>(1, weights_.bytes() / step);
    return {format, m, shape.n, shape.k, a_.data(), weights_.at(number % places * step), c_.data()};
  }

 private:
  Buffer weights_, a_, c_;
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
      const int64_t bytes = side * side * bytes_of(format);
      GemmOperands operands(bench.backend(), bench.stream(), bytes, bytes, bytes);
      operands.fill(format);
      return bench.time(
          [&](Stream& stream, int64_t i) {
            stream.gemm(operands.gemm(format, side, {side, side}, i));
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

GemmSweep sweep_gemms(const Sweep& sweep) {
  const double budget_s = sweep.budgets.gemm_s;
  Bench& bench = sweep.bench;
  Backend& backend = bench.backend();
  const DeviceInfo info = backend.info();
  const Format usual = info.formats.front();
  const int64_t element_bytes = bytes_of(usual);
  const Rates rates = probe(sweep, usual);
  const Effort effort{.batches = sweep.thorough ? 5 : 3, .batch_s = sweep.thorough ? 5e-4 : 3e-4};

  GemmSweep result;
  // A CPU is too slow for the catalogue's models and measures small ones instead.
  const bool small = info.backend == "cpu";
  const std::vector<MeasuredShape> wanted =
      small ? gemm_shapes(cpu_models(), false) : gemm_shapes(catalogue_models());
  // The default format with graphs takes 0.8 of the time; the other format and eager launches take the rest.
  const std::vector<Shape> shapes =
      planned(wanted, rates, effort, element_bytes, info.memory_bytes / 8, 0.8 * budget_s);
  result.shapes = static_cast<int64_t>(wanted.size());
  result.shapes_taken = static_cast<int64_t>(shapes.size());

  int64_t weight_bytes = sweep.cold_bytes();
  int64_t a_bytes = kAlignBytes;
  int64_t c_bytes = kAlignBytes;
  int64_t most_rows = 0;
  for (const Shape& shape : shapes) {
    weight_bytes = std::max(weight_bytes, shape.shape.n * shape.shape.k * element_bytes + kAlignBytes);
    a_bytes = std::max(a_bytes, shape.rows.back() * shape.shape.k * element_bytes);
    c_bytes = std::max(c_bytes, shape.rows.back() * shape.shape.n * element_bytes);
    most_rows = std::max(most_rows, shape.rows.back());
  }
  GemmOperands operands(backend, bench.stream(), weight_bytes, a_bytes, c_bytes);

  std::vector<Point> points;
  const auto add = [&](Format format, Launch launch, const Shape& shape, int64_t m) {
    const std::string key = "gemm/" + name(format) + (launch == Launch::graph ? "/graph/" : "/eager/") +
                            std::to_string(m) + "/" + std::to_string(shape.shape.n) + "/" +
                            std::to_string(shape.shape.k);
    points.push_back({key,
                      [&, format, launch, shape = shape.shape, m] {
                        return bench.time([&](Stream& stream,
                                              int64_t i) { stream.gemm(operands.gemm(format, m, shape, i)); },
                                          effort, launch);
                      },
                      [&result, format, launch, shape = shape.shape, m](const Sample& sample) {
                        result.times.push_back({format, launch, m, shape.n, shape.k, sample});
                      }});
  };
  operands.fill(usual);
  for (const Shape& shape : shapes) {
    for (const int64_t m : shape.rows) add(usual, Launch::graph, shape, m);
  }
  int64_t left_out = run_points(sweep, "gemm", points, 0.8 * budget_s);
  points.clear();

  // The other formats and eager launches: powers of two, for the shapes that fit the remaining time.
  std::vector<Shape> powers = shapes;
  for (Shape& shape : powers) {
    std::erase_if(shape.rows, [](int64_t m) { return !is_power_of_two(m); });
    shape.cost_s = 0;
    for (const int64_t m : shape.rows)
      shape.cost_s += effort.cost_s(rates.call_s(m, shape.shape, element_bytes));
  }
  const auto kinds = static_cast<double>(info.formats.size());
  const std::vector<Shape> few = thinned(powers, 0.2 * budget_s / kinds);
  for (const Shape& shape : few) {
    for (const int64_t m : shape.rows) add(usual, Launch::eager, shape, m);
  }
  left_out += run_points(sweep, "gemm eager", points, 0.2 * budget_s / kinds);
  for (std::size_t i = 1; i < info.formats.size(); ++i) {
    points.clear();
    operands.fill(info.formats[i]);
    for (const Shape& shape : few) {
      for (const int64_t m : shape.rows) add(info.formats[i], Launch::graph, shape, m);
    }
    left_out += run_points(sweep, "gemm " + name(info.formats[i]), points, 0.2 * budget_s / kinds);
  }

  char text[240];
  std::snprintf(
      text, sizeof text,
      "%lld of the %lld GEMM shapes that %s were measured, at up to %lld rows; random data, weights out of "
      "cache; %lld points left out for time",
      static_cast<long long>(result.shapes_taken), static_cast<long long>(result.shapes),
      small ? "the twin's models for CPUs have" : "the catalogue's models have on 1, 2, 4 and 8 GPUs",
      static_cast<long long>(most_rows), static_cast<long long>(left_out));
  result.notes.emplace_back(text);
  if (left_out > 0) result.shapes_taken = std::min(result.shapes_taken, result.shapes - 1);
  return result;
}

}  // namespace kvcap::calibration
