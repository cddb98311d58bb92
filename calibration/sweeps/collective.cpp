#include <algorithm>

#include "calibration/sweeps/sweeps.h"

namespace kvcap::calibration {

AllReduceSweep sweep_all_reduce(const Sweep& sweep, Collective& collective) {
  constexpr int64_t kLeastBytes = 8192;  // one token of hidden size 4096
  constexpr double kBatchBytes = 1e9;
  AllReduceSweep sums{
      .devices = collective.devices(), .library = collective.library(), .times = {}, .notes = {}};
  const int batches = sweep.thorough ? 7 : 3;
  const int64_t most = std::min(collective.most_bytes(), sweep.budgets.copy_bytes);
  std::vector<Point> points;
  for (int64_t bytes = kLeastBytes; bytes <= most; bytes *= 4) {
    points.push_back({"all-reduce/" + std::to_string(bytes),
                      [&collective, bytes, batches] {
                        const int calls = static_cast<int>(
                            std::clamp(kBatchBytes / static_cast<double>(bytes), 4.0, 200.0));
                        std::vector<double> times_s;
                        for (int i = 0; i < batches; ++i)
                          times_s.push_back(collective.all_reduce_s(bytes, calls));
                        return summarize(std::move(times_s));
                      },
                      [&sums, bytes](const Sample& sample) {
                        sums.times.push_back({"all-reduce", static_cast<double>(bytes), sample});
                      }});
  }
  run_noted_points(sweep, "all-reduces", points, sweep.budgets.copies_s, &sums.notes);
  return sums;
}

}  // namespace kvcap::calibration
