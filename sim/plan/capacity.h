// Capacity: the highest load that meets every target, and the curve of what is served below and beyond it.
//
// The load is a rate of requests (an open loop: users do not wait for each other) or, in a closed loop, the
// number of sessions that are active at once. Under each of several seeds it is bracketed between a load that
// meets the targets and one that misses them, until the two are close; the interval is that of the seeds'
// values (Student t), and no narrower than a bracket. A run is as long as it takes to tell the long run
// (replicate.h); one that misses by far is not made longer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "metrics/intervals.h"
#include "metrics/result.h"
#include "plan/plan.h"
#include "scenario/scenario.h"

namespace kvcap {

struct CapacityQuestion {
  std::vector<Target> meet;  // beside a stable load in which nothing is rejected or truncated
  bool closed_loop = false;  // loads are whole numbers of sessions, else requests per second
  int64_t seeds = 4;
  double guess = 1;         // where to begin
  double precision = 0.02;  // of a bracket, relative
  int64_t sessions = 500;   // of the shortest run
};

// One simulation that is wanted.
struct LoadAsk {
  double load = 0;
  int64_t seed = 0;  // 0, 1, ...
  int64_t sessions = 0;
};
// One result an ask, in order.
using RunLoads = std::function<std::vector<RunResult>(const std::vector<LoadAsk>&)>;

// What the last, longest run of a load says of it.
struct Attempt {
  LoadAsk ask;
  std::string
      missed;  // the first that is not met: a target's metric, stable, rejected, truncated; empty: none
  RunResult result;
};

struct CapacityAnswer {
  MeanInterval load;              // highest that meets everything, over seeds; 0: not even the least does
  std::string limit;              // what is missed beyond, under most seeds
  std::vector<Attempt> curve;     // ascending, under the first seed: shares of the capacity
  std::vector<Attempt> attempts;  // of the search
};

CapacityAnswer find_capacity(const CapacityQuestion& question, const RunLoads& run);

// The scenario's service level objectives as targets for the 99th percentile.
std::vector<Target> targets_of(const SloOptions& slo);
// In workers: the scenario at each load, measured over the steady window. A file's sessions are drawn again
// where a run is longer than it.
RunLoads simulated_loads(Scenario scenario);

}  // namespace kvcap
