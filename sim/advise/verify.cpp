#include "advise/verify.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace kvcap {
namespace {

constexpr double kWholeWorkload = 1;
// If both corners of a box miss a target by more than this share of its bound, no point between them is run.
constexpr double kByFarOfSeeds = 1;
constexpr int64_t kMostRuns = 400;  // runs of configurations that others ruled out

struct Box {
  Point low, high;
};

int64_t points_in(const Box& box) {
  int64_t points = 1;
  for (std::size_t d = 0; d < box.low.size(); ++d)
    points *= static_cast<int64_t>(box.high[d] - box.low[d] + 1);
  return points;
}

std::pair<Box, Box> halves(const Box& box) {
  std::size_t longest = 0;
  const auto side = [&](std::size_t d) { return box.high[d] - box.low[d]; };
  for (std::size_t d = 0; d < box.low.size(); ++d) {
    if (side(d) > side(longest)) longest = d;
  }
  std::pair<Box, Box> parts = {box, box};
  parts.first.high[longest] = box.low[longest] + side(longest) / 2;
  parts.second.low[longest] = parts.first.high[longest] + 1;
  return parts;
}

class Verifier {
 public:
  Verifier(const Plan& plan, Judge& judge, const Verdicts& verdicts)
      : plan_(plan), judge_(judge), verdicts_(verdicts) {}

  Verification verify(std::vector<Box> boxes) {
    while (true) {
      drop_what_is_dearer(boxes);
      if (boxes.empty()) return found_;
      run_corners(boxes);
      judge_promising();
      std::vector<Box> smaller;
      for (const Box& box : boxes) {
        if (is_done(box)) continue;
        auto [first, second] = halves(box);
        smaller.push_back(std::move(first));
        smaller.push_back(std::move(second));
      }
      boxes = std::move(smaller);
    }
  }

 private:
  void drop_what_is_dearer(std::vector<Box>& boxes) {
    std::vector<Point> corners;
    for (const Box& box : boxes) {
      corners.push_back(box.low);
      corners.push_back(box.high);
    }
    const std::vector<bool> better = verdicts_.may_be_better(corners);
    std::vector<Box> left;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (better[2 * i] || better[2 * i + 1]) left.push_back(std::move(boxes[i]));
    }
    boxes = std::move(left);
  }

  // Runs the corners of the boxes. Corners beyond the limit of runs get no answer.
  void run_corners(const std::vector<Box>& boxes) {
    std::vector<Point> points;
    std::set<Point> wanted;
    for (const Box& box : boxes) {
      for (const Point& point : {box.low, box.high}) {
        if (answers_.contains(point) || !wanted.insert(point).second) continue;
        if (!verdicts_.is_judged(point)) {
          if (runs_ >= kMostRuns) continue;
          ++runs_;
          fresh_.push_back(point);
        }
        points.push_back(point);
      }
    }
    run(points);
  }

  void run(const std::vector<Point>& points) {
    const std::vector<Answer> answers = judge_.glance(trials_of(plan_, points), kWholeWorkload);
    for (std::size_t i = 0; i < points.size(); ++i) answers_.emplace(points[i], answers[i]);
  }

  // Judges the points that have more slack than every point that rules them out.
  void judge_promising() {
    const std::vector<bool> better = verdicts_.may_be_better(fresh_);
    std::vector<Point> promising, ruling;
    for (std::size_t i = 0; i < fresh_.size(); ++i) {
      if (!better[i]) continue;
      found_.run.push_back(fresh_[i]);
      if (room(fresh_[i]) < -kByFarOfSeeds) continue;
      promising.push_back(fresh_[i]);
      for (Point& other : verdicts_.ruling_out(fresh_[i])) {
        if (!answers_.contains(other)) ruling.push_back(std::move(other));
      }
    }
    fresh_.clear();
    run(ruling);
    std::erase_if(promising, [&](const Point& point) {
      const std::vector<Point> others = verdicts_.ruling_out(point);
      return std::any_of(others.begin(), others.end(),
                         [&](const Point& other) { return room(other) >= room(point); });
    });
    verdicts_.judge(promising);
  }

  // Returns the slack to the nearest bound, as a share of that bound; negative if a target is missed.
  double room(const Point& point) const {
    const Answer& answer = answers_.at(point);
    double least = std::numeric_limits<double>::infinity();
    if (!answer.reason.empty() || is_saturated(answer.result)) return -least;
    for (const Target& target : plan_.meet)
      least = std::min(least, slack(target, answer.result.number(target.metric)));
    return least;
  }

  bool are_same(const Point& a, const Point& b) const {
    const Answer &one = answers_.at(a), &other = answers_.at(b);
    if (!one.reason.empty() || !other.reason.empty()) return one.reason == other.reason;
    return std::all_of(plan_.meet.begin(), plan_.meet.end(), [&](const Target& target) {
      return one.result.number(target.metric) == other.result.number(target.metric);
    });
  }

  bool is_done(const Box& box) {
    const bool is_point = box.low == box.high;
    const int64_t between = points_in(box) - (is_point ? 1 : 2);
    const bool has_low = answers_.contains(box.low), has_high = answers_.contains(box.high);
    if (!has_low || !has_high) {
      found_.not_looked_at += between + (has_low ? 0 : 1) + (has_high || is_point ? 0 : 1);
      return true;
    }
    if (between == 0) return true;
    if (are_same(box.low, box.high)) {
      found_.same += between;
      return true;
    }
    if (room(box.low) < -kByFarOfSeeds && room(box.high) < -kByFarOfSeeds) {
      found_.not_looked_at += between;
      return true;
    }
    return false;
  }

  const Plan& plan_;
  Judge& judge_;
  const Verdicts& verdicts_;
  std::map<Point, Answer> answers_;
  std::vector<Point> fresh_;  // points that were run but not yet considered for a verdict
  int64_t runs_ = 0;
  Verification found_;
};

}  // namespace

Verification verify(const Plan& plan, Judge& judge, const std::vector<Combination>& combinations,
                    const Verdicts& verdicts) {
  std::vector<Box> boxes;
  boxes.reserve(combinations.size());
  for (const Combination& one : combinations) boxes.push_back({.low = one.bottom, .high = one.top});
  return Verifier(plan, judge, verdicts).verify(std::move(boxes));
}

}  // namespace kvcap
