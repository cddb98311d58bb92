// Searches for the best configuration of a plan that meets every target.
//
// The search has these steps:
//
// 1. Screening (screen.h) drops combinations of list values on short workloads.
// 2. The remaining combinations run on the whole workload: first those that met the targets on short
//    workloads, then the others, each in ascending order of the objective. A combination that misses the
//    targets with all ranges at their top is dropped; otherwise the longest range is bisected for every
//    choice of the other ranges. Configurations that cost more than the best so far are skipped; short
//    workloads estimate the objective accurately enough for that.
// 3. Of the configurations that cost as much as the best, the fastest on a short workload are judged, too.
// 4. Candidates whose verdict is unclear after the first look get more seeds, the cheapest first, and only if
//    they would beat the best. The search then continues with their verdicts.
// 5. Configurations that would beat the answer but were ruled out without a run are verified (verify.h).
// 6. The answer is judged once more, with more seeds than its verdict needed. If it then fails, the search
//    continues without it.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "advise/judge.h"
#include "advise/verify.h"

namespace kvcap {

// A list value that the answer does not use, and the reason, which one configuration with this value shows.
struct Discarded {
  enum class Why : uint8_t { dearer, unclear, misses, cannot_run };
  std::string value;  // "hardware=l40s"
  Why why = Why::cannot_run;
  double objective = NAN;    // objective of the configuration shown; NaN if it cannot run
  bool is_estimate = false;  // true: from a short workload only
  std::string reason;        // unclear, misses: the metric, "unstable" or "stable"; cannot_run: the error
  double found = NAN;        // value of the metric `reason`
  Changes changes;           // the configuration shown
};

using JudgedPoints = std::map<Point, const Candidate*>;

// Returns the list values that the answer does not use, in the order of the plan's lists. `best`: the answer;
// null: none.
std::vector<Discarded> discarded_values(const Plan& plan, const JudgedPoints& judged, const Point* best,
                                        const Screening& screening);

// Counts of configurations that would beat the answer but that the results of other configurations ruled out
// (verify.h).
struct Implied {
  int64_t verified = 0;       // run for verification
  int64_t wrong = 0;          // those of `verified` that meet every target
  int64_t same = 0;           // not run: they lie between two configurations with equal results
  int64_t not_looked_at = 0;  // not run: they lie between two that miss by far, or beyond the limit of runs
};

struct PlanResult {
  int64_t configurations = 0;              // number of configurations in the plan
  int64_t dropped = 0;                     // list combinations that short workloads ruled out
  int64_t cannot_run = 0;                  // list combinations that cannot run
  std::string cannot_run_reason;           // error of the first one
  const Candidate* best = nullptr;         // null: no configuration meets every target
  Point best_point;                        // point of `best`
  std::vector<const Candidate*> rivals;    // cheaper but undecided, or not significantly dearer than `best`
  const Candidate* nearest = nullptr;      // the judged candidate that misses by least
  const Candidate* next_better = nullptr;  // judged candidate with the next lower objective
  std::vector<const Candidate*> front;     // Pareto front: objective against kFrontMetric, ascending
  std::vector<const Candidate*> judged;    // candidates that ran on the whole workload, by objective
  std::vector<Discarded> discarded;        // values in the order of the plan's lists
  Implied implied;
  double confidence = 0.95;     // confidence of all intervals
  bool is_interrupted = false;  // by Ctrl-C: `best` is the best so far, and cheaper ones may exist

  // True iff there are no rivals and the answer ran under several seeds; a single seed does not show random
  // variation.
  bool is_clear() const { return rivals.empty() && (!best || best->runs.size() > 1); }
};

// The second axis of the Pareto front; the first is the objective.
inline constexpr const char* kFrontMetric = "p99_ttft_ms";

// After Ctrl-C, returns what has been judged so far; throws Interrupted if nothing has been judged.
PlanResult find_plan(const Plan& plan, Judge& judge);

}  // namespace kvcap
