// Verifies the assumption of the search (search.h) that more of a resource never hurts and less never helps.
//
// The search bisects ranges: if a configuration misses the targets, all configurations with less of
// everything are ruled out without a run. Caches can violate the assumption: a larger cache has more hits in
// a slow tier, and loading them may take longer than recomputing the tokens. So configurations that would
// beat the answer but were ruled out this way run on the workload's own sessions under one seed. If such a
// configuration has more slack on these sessions than every configuration that rules it out, it is judged.
//
// The ranges of a combination span a box. The two corners of the box, with the least and the most of
// everything, run first. If both have equal results, as with tiers that never fill, every point between them
// is assumed to have the same results. If both are saturated or miss a target by more than its bound, no
// point between them runs. Any other box is halved along its longest side, down to single configurations.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "advise/screen.h"

namespace kvcap {

struct Verification {
  std::vector<Point> run;     // points that were run although others had ruled them out
  int64_t same = 0;           // not run: they lie between two points with equal results
  int64_t not_looked_at = 0;  // not run: they lie between two that miss by far, or beyond the limit of runs
};

// What the verification needs of the search.
struct Verdicts {
  using Points = std::vector<Point>;
  std::function<std::vector<bool>(const Points&)> may_be_better;  // true: may beat the best so far
  std::function<bool(const Point&)> is_judged;
  std::function<Points(const Point&)> ruling_out;  // judged points that imply a miss
  std::function<void(const Points&)> judge;
};

// Verifies the box of every combination.
Verification verify(const Plan& plan, Judge& judge, const std::vector<Combination>& combinations,
                    const Verdicts& verdicts);

}  // namespace kvcap
