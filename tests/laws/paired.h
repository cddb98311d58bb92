// Paired comparisons: two settings run the same workloads, one for each seed, and their differences are
// judged by a t-interval.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "laws/machines.h"
#include "metrics/statistics/intervals.h"

namespace kvcap::laws {

inline constexpr uint64_t kPairedSeeds = 10;

// results[setting][seed] of every setting under every seed.
inline std::vector<std::vector<RunResult>> run_paired(const std::vector<Scenario>& settings,
                                                      const std::function<Workload(uint64_t seed)>& workload,
                                                      uint64_t seeds = kPairedSeeds) {
  std::vector<Case> cases;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const Workload one = workload(seed);
    for (const Scenario& setting : settings) cases.push_back({setting, one});
  }
  std::vector<RunResult> runs = run_cases(cases);
  std::vector<std::vector<RunResult>> results(settings.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    results[i % settings.size()].push_back(std::move(runs[i]));
  }
  return results;
}

// The interval of `setting` - `against`. Its confidence allows for the hundreds of comparisons of this
// folder: at 99.9 % one in two thousand is clearly positive by chance.
inline MeanInterval difference(const std::vector<RunResult>& setting, const std::vector<RunResult>& against,
                               std::string_view metric) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < setting.size(); ++i) {
    differences.push_back(setting[i].number(metric) - against[i].number(metric));
  }
  return mean_interval(differences, 0.999);
}

inline bool clearly_positive(const MeanInterval& interval) {
  return interval.mean - interval.half_width > 1e-9;
}
inline bool clearly_negative(const MeanInterval& interval) {
  return interval.mean + interval.half_width < -1e-9;
}

}  // namespace kvcap::laws
