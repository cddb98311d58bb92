// The first stage of a search: every combination of list values on short workloads, with all ranges at their
// top and at their bottom. What misses a target widely at both is dropped in the worse half of each round,
// and the others are looked at on a longer workload (successive halving).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/search/plan_judge.h"

namespace kvcap {

// A combination of list values.
struct Combination {
  Point top, bottom;  // all ranges at their last and first value
  // As the longest of the short workloads tells them.
  Answer at_top, at_bottom;
};

struct Screening {
  std::vector<Combination> left;
  std::vector<Combination> gone;  // dropped, or can run at neither end
  int64_t dropped = 0;            // combinations that miss widely
  int64_t cannot_run = 0;         // and that cannot run
  std::string cannot_run_reason;  // of the first
};

Screening screen(const Plan& plan, Judge& judge);

// Of the workload's sessions, in the first round.
inline constexpr double kShortestShare = 1.0 / 16;

// By how much one run misses the targets, all in all; infinite for what is saturated.
double total_violation(const Plan& plan, const RunResult& result);
// The target that it misses by most; null: none.
const Target* worst_target(const Plan& plan, const RunResult& result);

// Every choice of the dimensions for which `varies`, the others as in `from`; the last varies fastest.
template <class Varies>
std::vector<Point> grid(const Plan& plan, const Point& from, const Varies& varies) {
  std::vector<Point> points = {from};
  for (std::size_t d = 0; d < plan.search.size(); ++d) {
    if (!varies(d)) continue;
    std::vector<Point> finer;
    for (const Point& point : points) {
      for (std::size_t i = 0; i < plan.search[d].values.size(); ++i) {
        finer.push_back(point);
        finer.back()[d] = i;
      }
    }
    points = std::move(finer);
  }
  return points;
}

std::vector<Changes> changes_of(const Plan& plan, const std::vector<Point>& points);

}  // namespace kvcap
