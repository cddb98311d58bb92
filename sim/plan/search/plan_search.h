// The search for the best configuration that meets every target.
//
// Lists of values are searched: what short workloads leave of their combinations (plan_screen.h) is looked at
// on the whole workload, likely ones first, then from cheap to dear. Where not even all ranges at their top
// meet the targets, nothing does; else the longest range is bisected for every choice of the others. What
// costs more than the best so far is not looked at: short workloads tell the objective well enough for that.
// What is not clear after its first look gets more seeds last, from cheap to dear, and only where it would be
// better than the best; then the search goes on from what they say. What would be better and was ruled out
// unseen is verified (plan_verify.h), and the answer gets one look more than its verdict took; where it fails
// that, the search goes on without it.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/search/plan_judge.h"
#include "plan/search/plan_verify.h"

namespace kvcap {

// A value of a list that the answer does not have, and why: of all settings with it, the one that says most.
struct Discarded {
  enum class Why : uint8_t { dearer, unclear, misses, cannot_run };
  std::string value;  // "hardware=l40s"
  Why why = Why::misses;
  double objective = NAN;    // dearer: of the cheapest setting; unclear, misses: of the nearest one
  bool is_estimate = false;  // of a short workload, which nothing longer has checked
  std::string reason;        // unclear, misses: the metric, "unstable", "stable"; cannot_run: why
  double found = NAN;        // of the metric
  Changes changes;           // the setting
};

// What would be better than the answer and was ruled out by others alone (plan_verify.h).
struct Implied {
  int64_t verified = 0;       // run themselves
  int64_t wrong = 0;          // of them: they meet every target
  int64_t same = 0;           // between two with the same figures
  int64_t not_looked_at = 0;  // between two that miss by far, or beyond the limit of runs
};

struct PlanResult {
  int64_t configurations = 0;              // that the plan spans
  int64_t dropped = 0;                     // combinations of list values that short workloads ruled out
  int64_t cannot_run = 0;                  // of them
  std::string cannot_run_reason;           // of the first
  const Candidate* best = nullptr;         // null: none meets every target
  Point best_point;                        // where it is
  std::vector<const Candidate*> rivals;    // not told apart from the best, or undecided and better
  const Candidate* nearest = nullptr;      // without a best: what misses least
  const Candidate* next_better = nullptr;  // the last before the best, by objective
  std::vector<const Candidate*> front;     // objective against p99_ttft_ms, from cheap to dear
  std::vector<const Candidate*> judged;    // on the whole workload, by objective
  std::vector<Discarded> discarded;        // in the order of the plan's lists
  Implied implied;
  double confidence = 0.95;  // of all intervals

  // One seed tells nothing of chance.
  bool is_clear() const { return rivals.empty() && (!best || best->runs.size() > 1); }
};

// The metric that the front sets against the objective.
inline constexpr const char* kFrontMetric = "p99_ttft_ms";

PlanResult find_plan(const Plan& plan, Judge& judge);

}  // namespace kvcap
