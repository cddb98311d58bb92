#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "calibration/sweeps/sweeps.h"

namespace kvcap::calibration {
namespace {

constexpr int64_t kLeastBytes = 4096;

// Sources and destinations of the copies, each as large as the largest copy.
struct Ends {
  Buffer device, device_other, pinned, pinned_other, pageable;
};

}  // namespace

std::vector<CopyTime> sweep_copies(const Sweep& sweep, std::vector<std::string>* notes) {
  Bench& bench = sweep.bench;
  Backend& backend = bench.backend();
  const int64_t most = sweep.budgets.copy_bytes;
  const Ends ends{backend.allocate(Place::device, most), backend.allocate(Place::device, most),
                  backend.allocate(Place::pinned, most), backend.allocate(Place::pinned, most),
                  backend.allocate(Place::pageable, most)};
  const Effort effort{.batches = sweep.thorough ? 7 : 3, .batch_s = 2e-3, .max_calls = 32};

  std::vector<CopyTime> times;
  std::vector<Point> points;
  const auto add = [&](const std::string& way, int64_t bytes, std::function<Sample()> run) {
    points.push_back({"copy/" + way + "/" + std::to_string(bytes), std::move(run),
                      [&times, way, bytes](const Sample& sample) {
                        times.push_back({way, static_cast<double>(bytes), sample});
                      }});
  };
  // Small copies rotate through the buffers, so that no cache holds them.
  const auto add_one_way = [&](const std::string& way, const Buffer& to, const Buffer& from, int64_t bytes) {
    add(way, bytes, [&, bytes] {
      return bench.time(
          [&, bytes](Stream& stream, int64_t i) {
            const int64_t offset = i * 7 % std::max<int64_t>(1, most / bytes) * bytes;
            stream.copy(to.at(offset), from.at(offset), bytes);
          },
          effort);
    });
  };
  for (int64_t bytes = kLeastBytes; bytes <= most; bytes *= 4) {
    add_one_way("h2d pinned", ends.device, ends.pinned, bytes);
    add_one_way("d2h pinned", ends.pinned, ends.device, bytes);
    add_one_way("h2d pageable", ends.device, ends.pageable, bytes);
    add_one_way("d2h pageable", ends.pageable, ends.device, bytes);
  }
  // Large enough to make the start of a stream negligible.
  const int64_t large = std::min<int64_t>(most, 256 << 20);
  const int batches = sweep.thorough ? 5 : 3;
  add("both ways", large, [&, large] {
    return bench.time_together(
        {[&](Stream& stream) { stream.copy(ends.device.data(), ends.pinned.data(), large); },
         [&](Stream& stream) { stream.copy(ends.pinned_other.data(), ends.device_other.data(), large); }},
        batches);
  });
  for (const int64_t streams : {1, 2, 4}) {
    add("h2d " + std::to_string(streams) + " streams", large, [&, streams, large] {
      std::vector<std::function<void(Stream&)>> work;
      const int64_t share = large / streams;
      for (int64_t i = 0; i < streams; ++i) {
        work.emplace_back([&, i, share](Stream& stream) {
          stream.copy(ends.device.at(i * share), ends.pinned.at(i * share), share);
        });
      }
      return bench.time_together(work, batches);
    });
  }
  // GEMMs that run concurrently with the copy, until shortly after its end.
  const Format format = backend.info().formats.front();
  constexpr int64_t kRows = 1024;
  const Buffer operands = backend.allocate(Place::device, 3 * kRows * kRows * bytes_of(format));
  bench.stream().fill_random(format, operands.data(), 3 * kRows * kRows, 6);
  bench.stream().synchronize();
  const Gemm gemm{format,
                  kRows,
                  kRows,
                  kRows,
                  operands.data(),
                  operands.at(kRows * kRows * bytes_of(format)),
                  operands.at(2 * kRows * kRows * bytes_of(format))};
  add("h2d beside GEMMs", large, [&, large] {
    const std::unique_ptr<Stream> compute = backend.make_stream();
    const double gemm_s =
        bench.time([&](Stream& stream, int64_t) { stream.gemm(gemm); }, {.batches = 3}).median_s;
    const double copy_s =
        bench
            .time(
                [&](Stream& stream, int64_t) { stream.copy(ends.device.data(), ends.pinned.data(), large); },
                {.batches = 3, .max_calls = 1})
            .median_s;
    const int beside = static_cast<int>(std::clamp(1.5 * copy_s / gemm_s, 1.0, 5000.0));
    // A graph, because thousands of launches would take the host longer than the copy takes.
    compute->begin_capture();
    for (int i = 0; i < beside; ++i) compute->gemm(gemm);
    const std::unique_ptr<Graph> gemms = compute->end_capture();
    const Sample sample = bench.time(
        [&, large](Stream& stream, int64_t) {
          compute->launch(*gemms);
          stream.copy(ends.device.data(), ends.pinned.data(), large);
        },
        {.batches = batches, .batch_s = 0, .max_calls = 1});
    compute->synchronize();  // the last GEMMs end after the copy
    return sample;
  });
  run_noted_points(sweep, "copies", points, sweep.budgets.copies_s, notes);
  return times;
}

HostMemory sweep_host_memory(const Sweep& sweep, int64_t bytes) {
  const auto threads = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const int64_t share = bytes / threads / 4096 * 4096;
  const Sample sample = sweep.journal.sample("host copy/" + std::to_string(share), [&] {
    std::vector<Buffer> from, to;
    for (int64_t i = 0; i < threads; ++i) {
      from.push_back(sweep.bench.backend().allocate(Place::pageable, share));
      to.push_back(sweep.bench.backend().allocate(Place::pageable, share));
    }
    constexpr int kPasses = 3;
    std::vector<double> times_s;
    for (int batch = 0; batch < 5; ++batch) {
      const auto start = std::chrono::steady_clock::now();
      {
        std::vector<std::jthread> workers;
        for (int64_t i = 0; i < threads; ++i) {
          workers.emplace_back([&, i] {
            for (int pass = 0; pass < kPasses; ++pass) {
              std::memcpy(to[i].data(), from[i].data(), static_cast<std::size_t>(share));
            }
          });
        }
      }
      times_s.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                        kPasses);
    }
    return summarize(std::move(times_s));
  });
  return {2.0 * static_cast<double>(threads * share) / sample.time_s, threads};
}

}  // namespace kvcap::calibration
