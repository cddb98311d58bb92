#include <algorithm>
#include <chrono>

#include "calibration/random_value.h"
#include "calibration/sweeps/sweeps.h"

namespace kvcap::calibration {
namespace {

constexpr int kMostDepth = 64;
constexpr int64_t kMostChunkBytes = 16 << 20;

double duration_s(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A file filled with random data, and the memory that its chunks are read into and written from.
class Scratch {
 public:
  Scratch(Backend& backend, Stream& stream, const std::filesystem::path& folder, int64_t bytes)
      : file(folder, bytes),
        memory(backend.allocate(Place::pinned, std::min(bytes, int64_t{kMostDepth} * kMostChunkBytes / 4))) {
    fill(backend, stream);
  }

  // Returns the chunks to move, sequential or at random offsets.
  std::vector<IoPiece> pieces(int64_t chunk_bytes, int64_t count, bool random, int64_t start) const {
    std::vector<IoPiece> list;
    const int64_t places = file.bytes() / chunk_bytes;
    const int64_t slots = memory.bytes() / chunk_bytes;
    for (int64_t i = start; i < start + count; ++i) {
      const auto drawn = static_cast<double>(random_value(9, static_cast<uint64_t>(i))) / 2 + 0.5;
      const int64_t place = random ? static_cast<int64_t>(drawn * static_cast<double>(places)) : i % places;
      list.push_back({place * chunk_bytes, memory.at(i % slots * chunk_bytes), chunk_bytes});
    }
    return list;
  }

  ScratchFile file;
  Buffer memory;

 private:
  // Writes all blocks, because blocks that were never written would be read without the device.
  void fill(Backend& backend, Stream& stream) {
    const Format format = backend.info().formats.front();
    const int64_t count = std::min<int64_t>(memory.bytes(), kMostChunkBytes) / bytes_of(format);
    const Buffer random = backend.allocate(Place::device, count * bytes_of(format));
    stream.fill_random(format, random.data(), count, 8);
    for (int64_t offset = 0; offset < memory.bytes(); offset += random.bytes()) {
      stream.copy(memory.at(offset), random.data(), std::min(random.bytes(), memory.bytes() - offset));
    }
    stream.synchronize();
    DiskQueue queue(8);
    const int64_t chunk = std::min<int64_t>(memory.bytes(), 1 << 20);
    queue.write(file, pieces(chunk, file.bytes() / chunk, false, 0));
    file.drop_cache();
  }
};

Sample time_chunks(const Scratch& scratch, DiskQueue& queue, const DiskTime& point, double budget_s) {
  int64_t next = 0;
  const auto move = [&](int64_t count) {
    const std::vector<IoPiece> pieces = scratch.pieces(point.chunk_bytes, count, point.random, next);
    next += count;
    return duration_s([&] {
             if (point.reading) {
               queue.read(scratch.file, pieces);
             } else {
               queue.write(scratch.file, pieces);
             }
           }) /
           static_cast<double>(count);
  };
  if (!scratch.file.direct()) scratch.file.drop_cache();
  const int64_t first = std::max<int64_t>(point.depth, 4);
  const double chunk_s = move(first);
  constexpr int kBatches = 4;
  const double most =
      std::min(1e5, static_cast<double>(scratch.file.bytes()) / static_cast<double>(point.chunk_bytes));
  const auto count =
      static_cast<int64_t>(std::clamp(budget_s / kBatches / chunk_s, 1.0, std::max(most, 1.0)));
  std::vector<double> times_s;
  times_s.reserve(kBatches);
  for (int batch = 0; batch < kBatches; ++batch)
    times_s.push_back(move(std::max<int64_t>(count, point.depth)));
  return summarize(std::move(times_s));
}

std::optional<double> direct_read_rate(Backend& backend, const Scratch& scratch, const Sweep& sweep) {
  if (!backend.can_read_direct()) return std::nullopt;
  const int64_t bytes = std::min<int64_t>(scratch.file.bytes(), 256 << 20);
  const Sample sample = sweep.journal.sample("disk/direct to device", [&] {
    const Buffer device = backend.allocate(Place::device, bytes);
    std::vector<double> times_s;
    times_s.reserve(4);
    for (int i = 0; i < 4; ++i) {
      times_s.push_back(duration_s([&] {
        for (int64_t offset = 0; offset + kMostChunkBytes <= bytes; offset += kMostChunkBytes) {
          backend.read_direct(scratch.file.descriptor(), offset, device, offset, kMostChunkBytes);
        }
      }));
    }
    return summarize(std::move(times_s));
  });
  const int64_t whole_bytes = bytes / kMostChunkBytes * kMostChunkBytes;
  return static_cast<double>(whole_bytes) / sample.time_s;
}

}  // namespace

DiskSweep sweep_disk(const Sweep& sweep, const std::filesystem::path& folder) {
  const Budgets& budgets = sweep.budgets;
  Backend& backend = sweep.bench.backend();
  DiskSweep result;
  result.info = disk_info(folder);
  const Scratch scratch(backend, sweep.bench.stream(), folder, budgets.disk_bytes);
  result.direct = scratch.file.direct();
  const DiskQueue probe(1);
  result.way = probe.way() + (probe.reason().empty() ? "" : " (" + probe.reason() + ")");

  std::vector<DiskTime> wanted;
  for (int64_t chunk = 4096; chunk <= kMostChunkBytes && chunk * 4 <= budgets.disk_bytes; chunk *= 4) {
    for (const int depth : {1, 4, 16, kMostDepth}) {
      if (depth * chunk > scratch.memory.bytes()) continue;
      for (const bool random : {false, true}) {
        wanted.push_back({true, random, chunk, depth, {}});
        wanted.push_back({false, random, chunk, depth, {}});
      }
    }
  }
  const double each_s = budgets.disk_s / static_cast<double>(wanted.size() + 1);
  std::vector<Point> points;
  points.reserve(wanted.size());
  for (const DiskTime& one : wanted) {
    points.push_back({"disk/" + std::string(one.reading ? "read/" : "write/") +
                          (one.random ? "random/" : "sequential/") + std::to_string(one.chunk_bytes) + "/" +
                          std::to_string(one.depth),
                      [&, one] {
                        DiskQueue queue(one.depth);
                        return time_chunks(scratch, queue, one, 0.8 * each_s);
                      },
                      [&result, one](const Sample& sample) {
                        result.times.push_back(one);
                        result.times.back().time = sample;
                      }});
  }
  run_noted_points(sweep, "disk", points, budgets.disk_s, &result.notes);
  for (const DiskTime& one : result.times) {
    if (!one.reading && one.random && one.chunk_bytes == 4096 && one.depth == 1) {
      result.sync_write_s = one.time.time_s;
    }
  }
  result.direct_to_device_bytes_per_s = direct_read_rate(backend, scratch, sweep);
  return result;
}

}  // namespace kvcap::calibration
