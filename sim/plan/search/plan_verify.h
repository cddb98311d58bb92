// Whether more of a resource hurt after all, or less helped.
//
// A search bisects ranges: what misses the targets rules out everything with less, unseen. With caches that
// may be wrong: a larger one finds more in a slow tier, and loading may take longer than recomputing. So what
// would be better than the answer and is ruled out by others alone is run itself, on the workload's own
// sessions under one seed. Where it has more room to its targets than everything that rules it out, on the
// same sessions, it is judged.
//
// The ranges of a combination span a box, and the two corners with the least and the most of everything are
// run first. Where both have the same figures, as tiers do that never fill, so has what lies between them.
// Where both are saturated or miss a target by more than its bound, nothing between them is looked at. Other
// boxes are halved along their longest side, down to single configurations.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/search/plan_screen.h"

namespace kvcap {

struct Verification {
  std::vector<Point> run;     // configurations that others alone ruled out
  int64_t same = 0;           // between two with the same figures
  int64_t not_looked_at = 0;  // between two that miss by far, or beyond the limit of runs
};

// What the search knows, in terms of its points.
struct Verdicts {
  using Points = std::vector<Point>;
  std::function<std::vector<bool>(const Points&)> may_be_better;  // than the best so far
  std::function<bool(const Point&)> is_judged;
  std::function<Points(const Point&)> ruling_out;  // judged, and they imply that it misses
  std::function<void(const Points&)> judge;
};

// Of every combination's box.
Verification verify(const Plan& plan, Judge& judge, const std::vector<Combination>& combinations,
                    const Verdicts& verdicts);

}  // namespace kvcap
