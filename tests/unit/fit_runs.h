// Requests to a server whose machine is known, for tests of fits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "base/random.h"
#include "fit/distances.h"
#include "fit/fit.h"
#include "plan/workers.h"
#include "run/simulate.h"
#include "scenario/load.h"

namespace kvcap::fit_test {

inline constexpr const char* kScenario = R"({"schema": "kvcap.scenario/1", "model": "llama-3.1-8b",
  "hardware": "h100-sxm", "policy": "recompute",
  "serving": {"host_times": "none", "mixed_attention": "two_calls"},
  "workload": {"source": {"kind": "chat"}}})";

inline Scenario base_scenario(const std::vector<std::string>& overrides = {}) {
  return parse_scenario(kScenario, "base", overrides);
}

// One request each: 4 to 1,200 new tokens and 80 answers, at `rate` requests/s.
inline Workload requests(std::size_t count, double rate_per_s, uint64_t seed = 1) {
  const RandomStream stream(seed, "fit_test");
  Workload workload;
  workload.absolute_times = true;
  double time_s = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto turn = static_cast<uint32_t>(i);
    workload.sessions.push_back({.first_turn = turn, .turn_count = 1});
    const auto input = static_cast<uint32_t>(4 + 1196 * stream.uniform(i, 1));
    workload.turns.push_back({input, 80, time_s});
    time_s += stream.exponential(i) / rate_per_s;
  }
  return workload;
}

// What a server would have measured on which `truth` is true.
inline FitRun measured_on(const Scenario& truth, const Workload& workload,
                          const Scenario& base = base_scenario()) {
  FitRun run{.name = "run", .scenario = base, .workload = workload};
  run.measured.resize(workload.turns.size());
  const std::string bytes =
      run_in_workers(1, [&](std::size_t, std::atomic<int64_t>&) {
        const std::vector<RequestTimes> times = simulated_times(run, simulate(truth, workload));
        return std::string(reinterpret_cast<const char*>(times.data()), times.size() * sizeof(RequestTimes));
      }).front();
  std::vector<RequestTimes> times(workload.turns.size());
  bytes.copy(reinterpret_cast<char*>(times.data()), bytes.size());
  for (std::size_t i = 0; i < times.size(); ++i) run.measured[i] = {times[i].ttft_s, times[i].e2el_s};
  return run;
}

inline const FitEstimate& estimate(const FitAnswer& answer, const std::string& name) {
  const auto found = std::find_if(answer.estimates.begin(), answer.estimates.end(),
                                  [&](const FitEstimate& one) { return one.parameter.name == name; });
  EXPECT_NE(found, answer.estimates.end()) << name;
  return *found;
}

}  // namespace kvcap::fit_test
