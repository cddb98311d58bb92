// Measurements of the benchmarks. Each has a process of its own, because SimGrid has one engine per process.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "plan/workers.h"
#include "run/simulate.h"

namespace kvcap {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Runs `measure` in a worker process and returns its result.
inline double in_worker(const std::function<double()>& measure) {
  const Job job = [&](std::size_t, std::atomic<int64_t>&) { return std::to_string(measure()); };
  return std::stod(run_in_workers(1, job).front());
}

inline double simulate_s(const Scenario& scenario, const Workload& workload) {
  const auto start = Clock::now();
  const RunResult result = simulate(scenario, workload);
  const double seconds = seconds_since(start);
  benchmark::DoNotOptimize(result.turns.data());
  return seconds;
}

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace kvcap
