// Searches for the best configuration of a plan that meets every target.
//
// The combinations of list values that remain after screening (screen.h) run on the whole workload: those
// that met the targets on short workloads first, then the others, each in ascending order of the objective.
// If a combination misses with all ranges at their top, it is dropped; otherwise the longest range is
// bisected for every choice of the other ranges. Configurations that cost more than the best so far are
// skipped; short workloads estimate the objective accurately enough for that. Of the configurations that cost
// as much as the best, the fastest on a short workload are judged, too. Candidates that are unclear after the
// first look get more seeds last, cheapest first, and only if they would beat the best; the search then
// continues with their verdicts. Configurations that would beat the answer but were ruled out without a run
// are verified (verify.h). The answer gets one more look than its verdict needed; if it fails that look, the
// search continues without it.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "advise/judge.h"
#include "advise/verify.h"

namespace kvcap {

// A list value that the answer does not use, and why. Of all configurations with this value, the most
// informative one is shown.
struct Discarded {
  enum class Why : uint8_t { dearer, unclear, misses, cannot_run };
  std::string value;  // "hardware=l40s"
  Why why = Why::cannot_run;
  double objective = NAN;    // dearer: of the cheapest one; unclear, misses: of the one that misses least
  bool is_estimate = false;  // true: from a short workload only
  std::string reason;        // unclear, misses: the metric, "unstable" or "stable"; cannot_run: the error
  double found = NAN;        // value of the metric `reason`
  Changes changes;           // the configuration shown
};

using JudgedPoints = std::map<Point, const Candidate*>;

// Returns the values in the order of the plan's lists. `best`: the answer; null: none.
std::vector<Discarded> discarded_values(const Plan& plan, const JudgedPoints& judged, const Point* best,
                                        const Screening& screening);

// Counts of configurations that would beat the answer but were ruled out by others without a run
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
  std::vector<const Candidate*> rivals;    // cheaper but undecided, or not significantly dearer than the best
  const Candidate* nearest = nullptr;      // the judged candidate that misses by least
  const Candidate* next_better = nullptr;  // the last judged candidate before the best, by objective
  std::vector<const Candidate*> front;     // objective against p99_ttft_ms, in ascending order of cost
  std::vector<const Candidate*> judged;    // candidates that ran on the whole workload, by objective
  std::vector<Discarded> discarded;        // values in the order of the plan's lists
  Implied implied;
  double confidence = 0.95;     // confidence of all intervals
  bool is_interrupted = false;  // by Ctrl-C: `best` is the best so far, and cheaper ones may exist

  // False also if a single seed ran, because one seed does not show random variation.
  bool is_clear() const { return rivals.empty() && (!best || best->runs.size() > 1); }
};

// The second axis of the Pareto front; the first is the objective.
inline constexpr const char* kFrontMetric = "p99_ttft_ms";

// After Ctrl-C, returns what has been judged so far; throws Interrupted if nothing has been judged.
PlanResult find_plan(const Plan& plan, Judge& judge);

}  // namespace kvcap
