// The first stage of a search (successive halving): runs every combination of list values on short workloads,
// once with all ranges at their last value (the top) and once at their first value (the bottom). Each round
// drops the combinations of the worse half that miss the targets by far more than the best combination, and
// runs the rest on a longer workload.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "advise/judge.h"

namespace kvcap {

// A combination of list values.
struct Combination {
  Point top, bottom;  // with all ranges at their last value, and at their first
  // The results of the latest round.
  Answer at_top, at_bottom;
};

struct Screening {
  std::vector<Combination> left;
  std::vector<Combination> gone;  // combinations that were dropped, or that can run at neither end
  int64_t dropped = 0;            // number of combinations that missed widely
  int64_t cannot_run = 0;         // number of combinations that cannot run
  std::string cannot_run_reason;  // error of the first one
};

Screening screen(const Plan& plan, Judge& judge);

// Shares of the workload's sessions in the first and in the last round.
inline constexpr double kShortestShare = 1.0 / 16, kLongestShortShare = 1.0 / 4;

// Return the sum of the violations of all targets. For a single run, the sum is infinite if the run is
// saturated; for a candidate, whose means count, it is then large but finite.
double total_violation(const Plan& plan, const RunResult& result);
double total_violation(const Plan& plan, const Candidate& candidate);
// Returns the target with the largest violation; null: none.
const Target* worst_target(const Plan& plan, const RunResult& result);

// Returns `from` and all points that next_point() reaches from there.
std::vector<Point> grid(const Plan& plan, Point from, const Varies& varies);

std::vector<Trial> trials_of(const Plan& plan, const std::vector<Point>& points);

}  // namespace kvcap
