// Capacity: the highest load that meets every target, and the curve of what is served below and beyond it.
//
// The load is a rate of requests (an open loop: users do not wait for each other) or, in a closed loop, the
// number of sessions that are active at once. Every load runs under the same seeds (common random numbers),
// each run as long as it takes to tell the long run (replicate.h), and what counts are the means over the
// seeds: a single lucky run decides nothing. A percentile is judged by the share of turns beyond its bound
// (metrics/statistics/percentile_share.h), which is the same question without the bias of short runs. One
// bracket is halved between a load whose means meet every target and one whose means miss one.
//
// The interval inverts the test that judges a load: it spans the loads at which the seeds do not tell. Up to
// its lower end every load that ran meets the targets with the whole interval of each metric (95 % over the
// seeds, Student t; the 5 % are divided among the targets), from its upper end on every one misses one so. It
// holds the true capacity in at least 95 of 100 searches where runs are long enough to be without bias.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "metrics/result.h"
#include "metrics/statistics/intervals.h"
#include "metrics/statistics/stability.h"
#include "plan/search/plan.h"
#include "plan/search/plan_judge.h"
#include "plan/sweep/finished_runs.h"
#include "scenario/scenario.h"

namespace kvcap {

struct CapacityQuestion {
  std::vector<Target> meet;  // beside a stable load in which nothing is rejected, fails or is truncated
  bool closed_loop = false;  // loads are whole numbers of sessions, else requests per second
  int64_t seeds = 8;
  double guess = 1;         // where to begin
  double precision = 0.02;  // of the bracket and of the interval's ends, relative
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

// A load and its longest run under each seed.
struct LoadPoint {
  double load = 0;
  std::vector<RunResult> runs;
  // What the means say: the first condition that is missed (a target's metric, stable, rejected, failed,
  // truncated); empty: none.
  std::string missed;
  Judgement verdict = Judgement::unclear;  // what the intervals say; of a single seed, what the means say

  // The half-width is NaN for a single seed.
  MeanInterval metric(const std::string& name, double confidence = 0.95) const;
  Verdict stability() const;  // on which all runs agree, else undecided
};

struct CapacityAnswer {
  double load = 0;  // the highest whose means meet everything; 0: not even the least does
  // Up to `sure` every load meets the targets for sure, from `beyond` on none does. Without an interval (a
  // single seed) the bracket.
  double sure = 0, beyond = std::numeric_limits<double>::infinity();
  std::string limit;              // what is missed beyond; empty: more was not tried
  std::vector<LoadPoint> curve;   // ascending: shares of the capacity
  std::vector<LoadPoint> points;  // ascending: all loads that ran
};

CapacityAnswer find_capacity(const CapacityQuestion& question, const RunLoads& run);

// The scenario's service level objectives as targets for the 99th percentile.
std::vector<Target> targets_of(const SloOptions& slo);
// The load that the scenario asks for, in the unit of capacities: sessions that are active, or requests per
// second (the highest of rates that change; 0.1 sessions per second where it says nothing).
double load_of(const Scenario& scenario);
// In workers: the scenario at each load, measured over the steady window, with the shares of turns beyond the
// percentiles of `meet` among the metrics. A file's sessions are drawn again where a run is longer than it.
RunLoads simulated_loads(Scenario scenario, const std::vector<Target>& meet,
                         const FinishedRuns& finished = FinishedRuns("", false));

}  // namespace kvcap
