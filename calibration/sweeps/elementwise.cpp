#include <algorithm>

#include "calibration/sweeps/sweeps.h"

namespace kvcap::calibration {
namespace {

// One kernel over `tokens` rows of a model of width 4096 with 32 heads of 128 and FFN width 11008.
constexpr int64_t kWidth = 4096;
constexpr int64_t kFfnWidth = 11008;
constexpr int64_t kRopeHeads = 32;
constexpr int64_t kHeadDim = 128;

struct Kernel {
  std::string operation;
  double elements_per_token;  // elements read plus elements written
  std::function<void(Stream&, std::byte* data, std::byte* out, Format, int64_t tokens)> enqueue;
};

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all = {
      {"rms_norm", 2 * kWidth,
       [](Stream& stream, std::byte* data, std::byte* out, Format format, int64_t tokens) {
         stream.rms_norm({format, tokens, kWidth, data, data, out});
       }},
      {"silu_multiply", 3 * kFfnWidth,
       [](Stream& stream, std::byte* data, std::byte* out, Format format, int64_t tokens) {
         stream.silu_multiply({format, tokens, kFfnWidth, data, out});
       }},
      {"add", 3 * kWidth,
       [](Stream& stream, std::byte* data, std::byte* out, Format format, int64_t tokens) {
         stream.add({format, tokens * kWidth, data, data + tokens * kWidth * bytes_of(format), out});
       }},
      {"rope", 2 * kRopeHeads * kHeadDim,
       [](Stream& stream, std::byte* data, std::byte*, Format format, int64_t tokens) {
         stream.rope({format, tokens, kRopeHeads, kHeadDim, kRopeHeads * kHeadDim, 0, data});
       }},
      {"snapshot", 2 * kWidth,
       [](Stream& stream, std::byte* data, std::byte* out, Format format, int64_t tokens) {
         stream.copy(out, data, tokens * kWidth * bytes_of(format));
       }},
  };
  return all;
}

}  // namespace

std::vector<ElementwiseTime> sweep_elementwise(const Sweep& sweep, std::vector<std::string>* notes) {
  Bench& bench = sweep.bench;
  const DeviceInfo info = bench.backend().info();
  const Format format = info.formats.front();
  const Effort effort{.batches = sweep.thorough ? 5 : 3, .batch_s = 3e-4};
  constexpr int64_t kTokens[] = {1, 16, 64, 256, 1024, 4096, 16384};
  // Long cases are left out on a CPU: one core needs a second where a GPU needs a millisecond.
  const int64_t most_tokens =
      std::min<int64_t>(sweep.budgets.elementwise_tokens, info.backend == "cpu" ? 1024 : 16384);
  const int64_t data_bytes = most_tokens * 2 * kFfnWidth * bytes_of(format);
  const auto places = sweep.cold_bytes() / data_bytes + 1;
  const Buffer data = bench.backend().allocate(Place::device, places * data_bytes);
  const Buffer out = bench.backend().allocate(Place::device, data_bytes);
  bench.stream().fill_random(format, data.data(), data.bytes() / bytes_of(format), 5);
  bench.stream().synchronize();

  std::vector<ElementwiseTime> times;
  std::vector<Point> points;
  for (const Kernel& kernel : kernels()) {
    for (const int64_t tokens : kTokens) {
      if (tokens > most_tokens) continue;
      const double bytes =
          kernel.elements_per_token * static_cast<double>(tokens) * static_cast<double>(bytes_of(format));
      const int64_t step = tokens * 2 * kFfnWidth * bytes_of(format);
      points.push_back({"elementwise/" + kernel.operation + "/" + std::to_string(tokens),
                        [&, tokens, step] {
                          return bench.time(
                              [&](Stream& stream, int64_t i) {
                                kernel.enqueue(stream, data.at(i % (data.bytes() / step) * step), out.data(),
                                               format, tokens);
                              },
                              effort, Launch::graph);
                        },
                        [&times, &kernel, bytes](const Sample& sample) {
                          times.push_back({kernel.operation, bytes, sample});
                        }});
    }
  }
  run_noted_points(sweep, "elementwise", points, sweep.budgets.elementwise_s, notes);
  return times;
}

Launches sweep_launches(const Sweep& sweep) {
  const auto time = [&](const std::string& key, Launch launch) {
    return sweep.journal.sample(key, [&] {
      return sweep.bench.time([](Stream& stream, int64_t) { stream.empty_kernel(); },
                              {.batches = 15, .batch_s = 1, .max_calls = 200}, launch);
    });
  };
  return {time("launch/eager", Launch::eager), time("launch/graph", Launch::graph)};
}

}  // namespace kvcap::calibration
