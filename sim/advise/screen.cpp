#include "advise/screen.h"

#include <algorithm>
#include <utility>

#include "base/float_values.h"

namespace kvcap {
namespace {

constexpr double kScreenShares[] = {kShortestShare, kLongestShortShare};
// A combination is dropped if its violation exceeds that of the best combination by more than this share of a
// bound.
constexpr double kWidely = 0.5;

std::vector<Combination> all_combinations(const Plan& plan) {
  const auto is_list = [&](std::size_t d) { return !plan.search[d].is_range; };
  std::vector<Combination> all;
  for (const Point& bottom : grid(plan, Point(plan.search.size(), 0), is_list)) {
    Combination one{.top = bottom, .bottom = bottom, .at_top = {}, .at_bottom = {}};
    for (std::size_t d = 0; d < one.top.size(); ++d) {
      if (!is_list(d)) one.top[d] = plan.search[d].values.size() - 1;
    }
    all.push_back(std::move(one));
  }
  return all;
}

// Runs every combination at its top and at its bottom. Usually the top is better; the bottom is if more of a
// resource hurts.
void glance(const Plan& plan, Judge& judge, double share, std::vector<Combination>& combinations) {
  std::vector<Point> points;
  for (const Combination& one : combinations) {
    points.push_back(one.top);
    points.push_back(one.bottom);
  }
  std::vector<Answer> answers = judge.glance(trials_of(plan, points), share);
  for (std::size_t i = 0; i < combinations.size(); ++i) {
    combinations[i].at_top = std::move(answers[2 * i]);
    combinations[i].at_bottom = std::move(answers[2 * i + 1]);
  }
}

bool can_run(const Combination& one) { return one.at_top.reason.empty() || one.at_bottom.reason.empty(); }

void drop_what_cannot_run(Screening& screening) {
  for (const Combination& one : screening.left) {
    if (can_run(one)) continue;
    if (screening.cannot_run++ == 0) screening.cannot_run_reason = one.at_top.reason;
    screening.gone.push_back(one);
  }
  std::erase_if(screening.left, [](const Combination& one) { return !can_run(one); });
}

// Returns the total violation of a combination at the better of its two ends.
double misses(const Plan& plan, const Combination& one) {
  const auto at = [&](const Answer& answer) {
    return answer.reason.empty() ? total_violation(plan, answer.result) : kInfinity;
  };
  return std::min(at(one.at_top), at(one.at_bottom));
}

void halve(const Plan& plan, Screening& screening) {
  std::vector<Combination>& left = screening.left;
  std::stable_sort(left.begin(), left.end(), [&](const Combination& a, const Combination& b) {
    return misses(plan, a) < misses(plan, b);
  });
  const std::size_t half = (left.size() + 1) / 2;
  while (left.size() > half && misses(plan, left.back()) > misses(plan, left.front()) + kWidely) {
    screening.gone.push_back(std::move(left.back()));
    left.pop_back();
    ++screening.dropped;
  }
}

}  // namespace

double total_violation(const Plan& plan, const RunResult& result) {
  if (is_saturated(result)) return kInfinity;
  double sum = 0;
  for (const Target& target : plan.meet) sum += violation(target, result.number(target.metric));
  return sum;
}

double total_violation(const Plan& plan, const Candidate& candidate) {
  // Latencies of a saturated machine depend on the length of its runs, so its offered load comes first.
  const double load = candidate.reason == "unstable" ? candidate.metric("offered_load").mean : 0;
  double sum = candidate.reason == "unstable" ? 1e6 * (load > 1 ? load : 1) : 0;
  for (const Target& target : plan.meet) sum += violation(target, candidate.metric(target.metric).mean);
  return sum;
}

const Target* worst_target(const Plan& plan, const RunResult& result) {
  const Target* worst = nullptr;
  double most = 0;
  for (const Target& target : plan.meet) {
    const double misses = violation(target, result.number(target.metric));
    if (misses <= most) continue;
    most = misses;
    worst = &target;
  }
  return worst;
}

std::vector<Point> grid(const Plan& plan, Point from, const Varies& varies) {
  std::vector<Point> points;
  do points.push_back(from);
  while (next_point(plan, from, varies));
  return points;
}

std::vector<Trial> trials_of(const Plan& plan, const std::vector<Point>& points) {
  std::vector<Trial> trials;
  trials.reserve(points.size());
  for (const Point& point : points) trials.push_back({changes_at(plan, point)});
  return trials;
}

Screening screen(const Plan& plan, Judge& judge) {
  Screening screening{.left = all_combinations(plan), .gone = {}, .cannot_run_reason = {}};
  for (double share : kScreenShares) {
    glance(plan, judge, share, screening.left);
    drop_what_cannot_run(screening);
    halve(plan, screening);
  }
  return screening;
}

}  // namespace kvcap
