// Capacity search: finds the highest load that meets every target, and the load curve below and above it.
//
// The load is a rate of requests (an open loop: users do not wait for each other) or, in a closed loop, the
// number of concurrently active sessions. Every load runs under the same seeds (common random numbers). Each
// run is lengthened until it represents the steady state (replicate.h). The search compares means over the
// seeds with the targets, so that a single lucky run decides nothing. It bisects between a load whose means
// meet every target and a load whose means miss a target. A percentile is judged by the share of turns beyond
// its bound (metrics/statistics/percentile_share.h), which avoids the bias of percentiles of short runs.
//
// The interval of the capacity spans the loads at which the seeds do not decide whether the targets are met.
// At every simulated load up to its lower end, the whole interval of each metric (Student t over the seeds,
// 95 % for all targets together) meets its target. At every simulated load from its upper end on, the whole
// interval of some metric misses its target. The interval contains the true capacity in at least 95 of 100
// searches if runs are long enough to be unbiased.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "metrics/result.h"
#include "metrics/statistics/intervals.h"
#include "metrics/statistics/stability.h"
#include "plan/plan.h"
#include "plan/sweep/finished_runs.h"
#include "scenario/scenario.h"

namespace kvcap {

struct CapacityQuestion {
  std::vector<Target> meet;  // targets; runs must also be stable, without rejected, failed or truncated turns
  bool closed_loop = false;  // true: loads are whole numbers of sessions; false: requests per second
  int64_t seeds = 8;
  double guess = 1;  // first load to try
  double precision =
      0.02;                // relative width at which bisection stops, for the bracket and the interval's ends
  int64_t sessions = 500;  // sessions of the shortest run
};

// One simulation to run.
struct LoadAsk {
  double load = 0;
  int64_t seed = 0;  // 0, 1, ...
  int64_t sessions = 0;
};
// Runs the given loads and returns one result per LoadAsk, in the same order.
using RunLoads = std::function<std::vector<RunResult>(const std::vector<LoadAsk>&)>;

// A load and its longest run under each seed.
struct LoadPoint {
  double load = 0;
  std::vector<RunResult> runs;
  // The first condition that the means miss: the metric of a target, "stable", "rejected", "failed" or
  // "truncated"; empty: none.
  std::string missed;
  Judgement verdict = Judgement::unclear;  // verdict of the intervals; for a single seed, of the means

  // The half-width is NaN for a single seed.
  MeanInterval metric(const std::string& name, double confidence = 0.95) const;
  Verdict stability() const;  // the verdict that all runs share; undecided if they differ
};

struct CapacityAnswer {
  double load = 0;  // the highest load whose means meet every target; 0: not even the lowest load does
  // The ends of the interval: with confidence, every load up to `sure` meets the targets, and every load from
  // `beyond` on misses one. With a single seed, the bracket of the bisection.
  double sure = 0, beyond = std::numeric_limits<double>::infinity();
  std::string limit;              // the condition that higher loads miss; empty: no simulated load misses any
  std::vector<LoadPoint> curve;   // ascending; at fixed multiples of the capacity and the interval's ends
  std::vector<LoadPoint> points;  // ascending; every simulated load
  bool is_interrupted = false;    // by Ctrl-C: `curve` has every simulated load, and the bracket is wide
};

// After Ctrl-C, returns what has been simulated so far; throws Interrupted if no load has been simulated.
CapacityAnswer find_capacity(const CapacityQuestion& question, const RunLoads& run);

// Returns the scenario's service level objectives as targets for the 99th percentile.
std::vector<Target> targets_of(const SloOptions& slo);
// Returns the scenario's own load in the unit of the search: active sessions, or requests per second. If the
// rate changes over time, returns the highest rate. If the scenario has no rate, assumes 0.1 sessions per
// second.
double load_of(const Scenario& scenario);
// Returns a function that simulates the scenario at the given loads in worker processes. Results cover the
// steady window of each run. The metrics include the share of turns beyond each percentile target of `meet`.
// If a run needs more sessions than the trace file has, sessions of the file are repeated.
RunLoads simulated_loads(Scenario scenario, const std::vector<Target>& meet,
                         const FinishedRuns& finished = FinishedRuns("", false));

}  // namespace kvcap
