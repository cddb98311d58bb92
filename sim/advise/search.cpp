#include "advise/search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "advise/screen.h"
#include "base/float_values.h"
#include "base/text/format.h"
#include "plan/workers.h"

namespace kvcap {
namespace {

// Assumed relative error of the objective on short workloads, until runs on the whole workload measure it.
constexpr double kObjectiveError = 0.1;
constexpr std::size_t kWave = 8;  // combinations that are searched concurrently
constexpr int64_t kFewSeeds = 3;  // an answer with at most this many seeds gets another look
// Limit on the configurations that cost as much as the answer and are judged because they may have a lower
// latency.
constexpr std::size_t kMostTies = 3;
constexpr double kEqual = 1e-9;  // relative rounding error of equal prices

// Returns the Pareto front of the entries: those that no other entry beats in both x and y, in ascending
// order of x.
template <class T, class X, class Y>
std::vector<T> non_dominated(std::vector<T> all, const X& x, const Y& y) {
  std::erase_if(all, [&](const T& one) { return !std::isfinite(x(one)) || !std::isfinite(y(one)); });
  std::stable_sort(all.begin(), all.end(),
                   [&](const T& a, const T& b) { return x(a) != x(b) ? x(a) < x(b) : y(a) < y(b); });
  std::vector<T> front;
  for (T& one : all) {
    if (front.empty() || y(one) < y(front.back())) front.push_back(std::move(one));
  }
  return front;
}

template <class Holds>
std::vector<bool> each(const std::vector<Point>& points, const Holds& holds) {
  std::vector<bool> answers;
  answers.reserve(points.size());
  for (const Point& point : points) answers.push_back(holds(point));
  return answers;
}

class PlanSearch {
 public:
  PlanSearch(const Plan& plan, Judge& judge) : plan_(plan), judge_(judge) {
    result_.confidence = judge.confidence();
    std::size_t longest = 0;
    for (std::size_t d = 0; d < plan.search.size(); ++d) {
      const std::size_t size = plan.search[d].values.size();
      result_.configurations *= static_cast<int64_t>(size);
      if (!plan.search[d].is_range || size <= longest) continue;
      longest = size;
      bisected_ = d;
    }
  }

  PlanResult run() {
    try {
      search_all();
    } catch (const Interrupted&) {
      find_best();
      result_.rivals = rivals_of_the_best();
      rank();
      if (!result_.nearest) throw;
      result_.is_interrupted = true;
    }
    return std::move(result_);
  }

 private:
  void search_all() {
    judge_.begin("screening");
    Screening screening = screen(plan_, judge_);
    result_.dropped = screening.dropped;
    result_.cannot_run = screening.cannot_run;
    result_.cannot_run_reason = std::move(screening.cannot_run_reason);
    judge_.begin("searching");
    std::vector<Combination>& left = screening.left;
    for (const Combination& one : left) {
      for (const auto& [point, answer] : {std::pair(&one.bottom, &one.at_bottom), {&one.top, &one.at_top}}) {
        estimates_.emplace(*point, answer->reason.empty() ? objective(answer->result) : kInfinity);
      }
    }
    std::stable_sort(left.begin(), left.end(), [&](const Combination& a, const Combination& b) {
      if (is_likely(a) != is_likely(b)) return is_likely(a);
      return estimate(a.bottom) < estimate(b.bottom);
    });
    double searched = 0;  // best objective when the last pass of the search ended
    do {
      do {
        do search_waves(left);
        while (clear_up());
        verify_implied(left);
      } while (clear_up() || !best_holds() || judge_ties(left));
      judge_all(likely_front(left));
      searched = best_objective_;
      conclude();
      update_best_objective();
    } while (std::isfinite(searched) && best_objective_ > searched + margin() + kEqual * std::abs(searched));
    count_verified();
    result_.discarded =
        discarded_values(plan_, judged_, result_.best ? &result_.best_point : nullptr, screening);
  }

  void search_waves(const std::vector<Combination>& left) {
    for (std::size_t begin = 0; begin < left.size();) {
      std::vector<const Combination*> wave;
      for (; begin < left.size() && wave.size() < kWave; ++begin) {
        if (may_be_cheaper(left[begin].bottom)) wave.push_back(&left[begin]);
      }
      search(wave);
    }
  }

  void verify_implied(const std::vector<Combination>& left) {
    const Verdicts verdicts = {.may_be_better =
                                   [&](const std::vector<Point>& points) {
                                     know_estimates(points);
                                     return each(points,
                                                 [&](const Point& point) { return may_be_better(point); });
                                   },
                               .is_judged = [&](const Point& point) { return judged_.contains(point); },
                               .ruling_out = [&](const Point& point) { return ruling_out(point); },
                               .judge = [&](const std::vector<Point>& points) { judge_all(points); }};
    const Verification found = verify(plan_, judge_, left, verdicts);
    verified_.insert(found.run.begin(), found.run.end());
    result_.implied.same = found.same;
    result_.implied.not_looked_at = found.not_looked_at;
  }

  void count_verified() {
    result_.implied.verified = std::ssize(verified_);
    result_.implied.wrong = std::count_if(verified_.begin(), verified_.end(), [&](const Point& point) {
      const auto found = judged_.find(point);
      return found != judged_.end() && found->second->verdict == Judgement::meets;
    });
  }

  // Judges the answer once more. Returns false if the answer then misses a target; the search must then try
  // the configurations that only the price of this answer had ruled out.
  bool best_holds() {
    find_best();
    if (!result_.best) return true;
    const int64_t runs = std::ssize(result_.best->runs);
    if (confirmed_.insert(result_.best).second && runs <= kFewSeeds) judge_.replicate(*result_.best);
    update_best_objective();
    return result_.best->verdict == Judgement::meets;
  }

  // Judges configurations that cost as much as the answer and were faster on a short workload. Of each line,
  // considers the configuration with the most resources; of these, judges the fastest few. Returns false if
  // there are none.
  bool judge_ties(const std::vector<Combination>& left) {
    if (!result_.best) return false;
    std::vector<Point> lines;
    for (const Combination& one : left) {
      if (!may_be_best(one.bottom)) continue;
      for (Point& line : lines_of(one)) lines.push_back(std::move(line));
    }
    const std::vector<std::size_t> ends = first_too_dear(lines);
    std::vector<Point> points = {result_.best_point};
    for (std::size_t i = 0; i < lines.size(); ++i) {
      Point& point = lines[i];
      if (bisected_) point[*bisected_] = std::max<std::size_t>(ends[i], 1) - 1;
      const bool is_tie =
          ends[i] > 0 && std::isfinite(estimate(point)) && !may_be_better(point) && !judged_.contains(point);
      if (is_tie && tried_ties_.insert(point).second) points.push_back(point);
    }
    const std::vector<Point> faster = fastest_on_short(points);
    judge_all(faster);
    return !faster.empty();
  }

  // Returns the fastest few of the points that met the targets on a short workload with less latency than the
  // first point, the fastest first.
  std::vector<Point> fastest_on_short(const std::vector<Point>& points) {
    const std::vector<Answer> answers = judge_.glance(trials_of(plan_, points), kLongestShortShare);
    const auto latency = [&](std::size_t i) { return answers[i].result.number(kFrontMetric); };
    std::vector<std::size_t> faster;
    for (std::size_t i = 1; i < points.size(); ++i) {
      const bool met = answers[i].reason.empty() && total_violation(plan_, answers[i].result) == 0;
      if (met && latency(i) < latency(0)) faster.push_back(i);
    }
    std::stable_sort(faster.begin(), faster.end(),
                     [&](std::size_t a, std::size_t b) { return latency(a) < latency(b); });
    faster.resize(std::min(faster.size(), kMostTies));
    std::vector<Point> found;
    for (std::size_t i : faster) found.push_back(points[i]);
    return found;
  }

  double objective(const auto& of) const { return kvcap::objective(plan_, of); }

  bool is_likely(const Combination& one) const { return total_violation(plan_, one.at_top.result) == 0; }

  // Returns the objective on a short workload; infinite if the point cannot run on it.
  double estimate(const Point& point) {
    know_estimates({point});
    return estimates_.at(point);
  }
  void know_estimates(const std::vector<Point>& points) {
    std::vector<Point> open;
    for (const Point& point : points) {
      if (!estimates_.contains(point)) open.push_back(point);
    }
    const std::vector<Answer> answers = judge_.glance(trials_of(plan_, open), kShortestShare);
    for (std::size_t i = 0; i < open.size(); ++i) {
      estimates_.emplace(open[i], answers[i].reason.empty() ? objective(answers[i].result) : kInfinity);
    }
  }
  // True iff a point is not clearly dearer than the best so far. The margin is twice the largest error of the
  // estimates on short workloads.
  bool may_be_best(const Point& point) {
    const double estimated = estimate(point);
    return !std::isfinite(estimated) || estimated <= best_objective_ + margin() + equal();
  }
  // Like may_be_best(), but false for a point that costs as much as the best so far.
  bool may_be_cheaper(const Point& point) { return !std::isfinite(estimate(point)) || may_be_better(point); }
  bool may_be_better(const Point& point) {
    return estimate(point) <
           (std::isfinite(best_objective_) ? best_objective_ + margin() - equal() : kInfinity);
  }
  double margin() const {
    return std::isfinite(best_objective_)
               ? (error_ ? 2 * *error_ : kObjectiveError) * std::abs(best_objective_)
               : 0;
  }
  double equal() const { return kEqual * std::abs(best_objective_); }

  // Searches combinations concurrently: runs their tops, then bisects their lines. A line is all points that
  // differ only in the longest range.
  void search(std::vector<const Combination*> wave) {
    // The top of a likely combination is expected to meet the targets, so running it tells nothing if it is
    // too dear to become the answer.
    const auto is_telling = [&](const Combination* one) { return !is_likely(*one) || may_be_best(one->top); };
    std::vector<Point> tops;
    for (const Combination* one : wave) {
      if (is_telling(one)) tops.push_back(one->top);
    }
    meets(tops);
    std::erase_if(wave, [&](const Combination* one) { return implied(one->top) == false; });

    std::vector<std::vector<Point>> lines;  // lines per combination, in descending order of cost
    for (const Combination* one : wave) {
      lines.push_back(lines_of(*one));
      know_estimates(lines.back());
      std::stable_sort(lines.back().begin(), lines.back().end(),
                       [&](const Point& a, const Point& b) { return estimate(a) < estimate(b); });
      std::reverse(lines.back().begin(), lines.back().end());
    }
    for (bool more = true; more;) {
      std::vector<Point> next;
      for (std::vector<Point>& open : lines) {
        std::erase_if(open, [&](const Point& line) { return !may_be_cheaper(line); });
        if (open.empty()) continue;
        next.push_back(std::move(open.back()));
        open.pop_back();
      }
      bisect(next);
      more = !next.empty();
    }
  }

  // Returns the first point of each of the combination's lines.
  std::vector<Point> lines_of(const Combination& one) const {
    return grid(plan_, one.bottom, [&](std::size_t d) { return plan_.search[d].is_range && d != bisected_; });
  }

  // Returns for each line the smallest value that is too dear, or the end of the line if no value is.
  std::vector<std::size_t> first_too_dear(const std::vector<Point>& lines) {
    const std::size_t top = bisected_ ? plan_.search[*bisected_].values.size() - 1 : 0;
    const auto is_too_dear = [&](const std::vector<Point>& points) {
      know_estimates(points);
      return each(points, [&](const Point& point) { return !may_be_best(point); });
    };
    return smallest(lines, std::vector(lines.size(), top + 1), is_too_dear);
  }

  void bisect(const std::vector<Point>& lines) {
    smallest(lines, first_too_dear(lines),
             [&](const std::vector<Point>& points) { return meets_or_saves_nothing(points); });
  }

  // Returns for each line the smallest value from which on `holds` is true, or the end of the line if there
  // is none. Tests the last value first, then the first, then bisects. All lines advance concurrently.
  template <class Holds>
  std::vector<std::size_t> smallest(const std::vector<Point>& lines, std::vector<std::size_t> ends,
                                    const Holds& holds) const {
    std::vector<std::size_t> found = ends;
    std::vector<std::size_t> low(lines.size(), 0);  // `holds` is false below this value
    while (true) {
      std::vector<std::size_t> open, values;
      std::vector<Point> points;
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (low[i] >= found[i]) continue;
        open.push_back(i);
        values.push_back(found[i] == ends[i] ? ends[i] - 1 : low[i] == 0 ? 0 : (low[i] + found[i]) / 2);
        points.push_back(lines[i]);
        if (bisected_) points.back()[*bisected_] = values.back();
      }
      if (open.empty()) return found;
      const std::vector<bool> answers = holds(points);
      for (std::size_t i = 0; i < open.size(); ++i) {
        if (answers[i]) {
          found[open[i]] = values[i];
        } else {
          low[open[i]] = values[i] + 1;
        }
      }
    }
  }

  // True iff `known` is in the same combination as `point` and has at most (if `has_less`) or at least
  // (otherwise) its resources.
  bool is_comparable(const Point& known, const Point& point, bool has_less) const {
    for (std::size_t d = 0; d < point.size(); ++d) {
      if (!plan_.search[d].is_range ? known[d] != point[d]
          : has_less                ? known[d] > point[d]
                                    : known[d] < point[d])
        return false;
    }
    return true;
  }

  // Returns the verdict that judged points of the same combination imply for `point`, assuming that more
  // resources never hurt and fewer never help; nothing if they imply no verdict.
  std::optional<bool> implied(const Point& point) const {
    for (const auto& [known, candidate] : judged_) {
      const bool good = candidate->verdict == Judgement::meets;
      if (!judge_.is_open(*candidate) && is_comparable(known, point, good)) return good;
    }
    return {};
  }
  std::vector<Point> ruling_out(const Point& point) const {
    std::vector<Point> points;
    for (const auto& [known, candidate] : judged_) {
      const bool bad = candidate->verdict != Judgement::meets && !judge_.is_open(*candidate);
      if (bad && is_comparable(known, point, false)) points.push_back(known);
    }
    return points;
  }

  // Returns whether each point may meet every target; simulates points without an implied verdict.
  std::vector<bool> meets(const std::vector<Point>& points) {
    std::vector<Point> open;
    for (const Point& point : points) {
      if (!implied(point)) open.push_back(point);
    }
    judge_all(open);
    return each(points, [&](const Point& point) { return implied(point).value_or(true); });
  }

  // Like meets(), but returns true without a run for a point that cannot save anything, because a judged
  // point with at least its resources meets the targets at no higher cost.
  std::vector<bool> meets_or_saves_nothing(const std::vector<Point>& points) {
    know_estimates(points);
    const auto saves_nothing = [&](const Point& point) {
      if (!std::isfinite(estimate(point))) return false;  // the point cannot run
      return std::any_of(judged_.begin(), judged_.end(), [&](const auto& one) {
        const auto& [known, candidate] = one;
        return candidate->verdict == Judgement::meets && known != point &&
               is_comparable(known, point, false) &&
               objective(*candidate) + margin() <= estimate(point) + equal();
      });
    };
    std::vector<bool> answers = each(points, saves_nothing);
    std::vector<Point> cheaper;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!answers[i]) cheaper.push_back(points[i]);
    }
    const std::vector<bool> met = meets(cheaper);
    auto next = met.begin();
    for (std::size_t i = 0; i < answers.size(); ++i) answers[i] = answers[i] || *next++;
    return answers;
  }

  void update_best_objective() {
    best_objective_ = kInfinity;
    for (const auto& [point, candidate] : judged_) {
      if (candidate->verdict == Judgement::meets)
        best_objective_ = std::min(best_objective_, objective(*candidate));
    }
  }

  // Runs more seeds of the cheapest unclear candidate that would beat the best, until its verdict is clear.
  // Returns false if there is no such candidate.
  bool clear_up() {
    const auto is_worth = [&](const Candidate& one) {
      if (!judge_.is_open(one)) return false;
      const MeanInterval value = one.metric(plan_.minimize);
      return value.mean - value.half_width <= best_objective_ + equal();
    };
    const Candidate* cheapest = nullptr;
    for (const auto& [point, candidate] : judged_) {
      if (is_worth(*candidate) && (!cheapest || better(*candidate, *cheapest))) cheapest = candidate;
    }
    if (!cheapest) return false;
    while (is_worth(*cheapest)) judge_.look_again(*cheapest);
    update_best_objective();
    return true;
  }

  void judge_all(const std::vector<Point>& points) {
    const std::vector<const Candidate*> candidates = judge_.look(trials_of(plan_, points));
    for (std::size_t i = 0; i < points.size(); ++i) judged_.emplace(points[i], candidates[i]);
    update_best_objective();
    judge_.begin(std::isfinite(best_objective_)
                     ? "searching below " + plan_.minimize + " " + format_number(best_objective_)
                     : "searching");
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Candidate& candidate = *candidates[i];
      if (candidate.verdict == Judgement::cannot_run) continue;
      const double exact = objective(candidate);
      const auto estimated = estimates_.find(points[i]);
      if (estimated == estimates_.end() || !std::isfinite(estimated->second)) continue;
      const double error = std::abs(estimated->second - exact) / std::max(std::abs(exact), 1e-300);
      error_ = std::max(error_.value_or(0), error);
    }
  }

  // Returns the Pareto front of the tops and bottoms of all combinations, by their results on the longest
  // short workload.
  std::vector<Point> likely_front(const std::vector<Combination>& combinations) const {
    std::vector<std::pair<const Point*, const Answer*>> seen;
    for (const Combination& one : combinations) {
      seen.emplace_back(&one.top, &one.at_top);
      seen.emplace_back(&one.bottom, &one.at_bottom);
    }
    std::erase_if(seen, [](const auto& one) {
      return !one.second->reason.empty() || is_saturated(one.second->result);
    });
    std::vector<Point> points;
    for (const auto& [point, answer] : non_dominated(
             std::move(seen), [&](const auto& one) { return objective(one.second->result); },
             [](const auto& one) { return one.second->result.number(kFrontMetric); })) {
      points.push_back(*point);
    }
    return points;
  }

  bool better(const Candidate& a, const Candidate& b) const {
    const double difference = objective(a) - objective(b);
    if (std::abs(difference) > kEqual * std::abs(objective(b))) return difference < 0;
    return a.metric(kFrontMetric).mean < b.metric(kFrontMetric).mean;
  }

  // True iff `other` is significantly worse than `best`. Both use the same seeds, so common variation
  // cancels.
  bool clearly_behind(const Candidate& other, const Candidate& best) const {
    const MeanInterval interval =
        paired_difference(other, best, [&](const RunResult& run) { return objective(run); });
    const double equal = kEqual * std::abs(objective(best));
    if (std::isnan(interval.half_width) || interval.half_width <= equal) return interval.mean >= -equal;
    return interval.mean > interval.half_width;
  }

  // True iff `one` is a better answer than `best`: cheaper, or as cheap and faster with confidence. If
  // neither holds, the answer that comes first in the plan's lists stays; it is usually simpler, for example
  // without an offloading that gains nothing.
  bool replaces(const Candidate& one, const Candidate& best) const {
    if (!better(one, best)) return false;
    if (is_lower(objective(one), objective(best))) return true;
    const auto latency_ms = [](const RunResult& run) { return run.number(kFrontMetric); };
    const MeanInterval difference = paired_difference(one, best, latency_ms);
    return difference.mean + difference.half_width < 0;  // false for one seed (NaN)
  }

  void find_best() {
    result_.best = nullptr;
    for (const auto& [point, candidate] : judged_) {
      if (candidate->verdict != Judgement::meets) continue;
      if (result_.best && !replaces(*candidate, *result_.best)) continue;
      result_.best = candidate;
      result_.best_point = point;
    }
  }

  // Returns undecided candidates that are cheaper than the best, and candidates that are not significantly
  // worse.
  std::vector<const Candidate*> rivals_of_the_best() const {
    std::vector<const Candidate*> rivals;
    for (const auto& [point, candidate] : judged_) {
      if (candidate == result_.best) continue;
      const bool undecided =
          candidate->verdict == Judgement::unclear && (!result_.best || better(*candidate, *result_.best));
      const bool close = candidate->verdict == Judgement::meets && !clearly_behind(*candidate, *result_.best);
      if (undecided || close) rivals.push_back(candidate);
    }
    return rivals;
  }

  void conclude() {
    while (true) {
      tell_rivals_apart();
      rank();
      std::vector<const Candidate*> shown = result_.front;
      for (const Candidate* one : {result_.nearest, result_.next_better}) {
        if (one) shown.push_back(one);
      }
      std::erase_if(shown, [](const Candidate* one) { return one->runs.size() > 1; });
      if (shown.empty() || plan_.max_replications == 1) return;
      judge_.give_intervals(shown);
      while (clear_up()) {  // more seeds may turn a miss into an unclear verdict
      }
    }
  }

  void tell_rivals_apart() {
    for (bool more = true; more;) {
      find_best();
      result_.rivals = rivals_of_the_best();
      more = false;
      for (const Candidate* rival : result_.rivals) {
        if (rival->verdict != Judgement::meets) continue;
        const bool first = judge_.replicate(*rival);
        more = judge_.replicate(*result_.best) || first || more;
      }
    }
  }

  void rank() {
    result_.judged.clear();
    for (const auto& [point, candidate] : judged_) {
      if (candidate->verdict != Judgement::cannot_run) result_.judged.push_back(candidate);
    }
    // Equal candidates keep the order of the plan's values, small ones first.
    const auto by_objective = [&](const Candidate* a, const Candidate* b) { return better(*a, *b); };
    std::stable_sort(result_.judged.begin(), result_.judged.end(), by_objective);
    std::stable_sort(result_.rivals.begin(), result_.rivals.end(), by_objective);
    result_.nearest = result_.next_better = nullptr;
    for (const Candidate* one : result_.judged) {
      if (!result_.nearest || total_violation(plan_, *one) < total_violation(plan_, *result_.nearest)) {
        result_.nearest = one;
      }
      if (result_.best && is_lower(objective(*one), objective(*result_.best))) result_.next_better = one;
    }
    std::vector<const Candidate*> stable = result_.judged;
    std::erase_if(stable, [](const Candidate* one) { return one->reason == "unstable"; });
    result_.front = non_dominated(
        std::move(stable), [&](const Candidate* one) { return objective(*one); },
        [](const Candidate* one) { return one->metric(kFrontMetric).mean; });
  }

  const Plan& plan_;
  Judge& judge_;
  std::optional<std::size_t> bisected_;  // the longest range
  std::map<Point, double> estimates_;    // objectives on short workloads
  std::optional<double> error_;          // largest relative error of an estimate so far
  JudgedPoints judged_;
  std::set<Point> tried_ties_;
  double best_objective_ = kInfinity;
  std::set<Point> verified_;              // points that were run although others ruled them out
  std::set<const Candidate*> confirmed_;  // candidates that were judged once more as the answer
  PlanResult result_{.configurations = 1};
};

}  // namespace

PlanResult find_plan(const Plan& plan, Judge& judge) { return PlanSearch(plan, judge).run(); }

}  // namespace kvcap
