#include "plan/plan_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace kvcap {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kFirstReplications = 3;
constexpr double kGlanceShares[] = {1.0 / 16, 1.0 / 4};
// Misses a target by so much more than the best on the same short workload: a share of the bound.
constexpr double kWidely = 0.5;
// How well a short workload tells the objective of a long one.
constexpr double kObjectiveError = 0.1;
constexpr std::size_t kWave = 8;  // lines that are bisected side by side
constexpr double kEqual = 1e-9;   // relative: what rounding makes of equal prices

bool is_stable(const RunResult& result) { return result.number("stable") != 0; }

// By how much one run misses the targets, all in all; infinite for what is unstable.
double total_violation(const Plan& plan, const RunResult& result) {
  if (!is_stable(result)) return kInfinity;
  double sum = 0;
  for (const Target& target : plan.meet) sum += violation(target, result.number(target.metric));
  return sum;
}

double total_violation(const Plan& plan, const Candidate& candidate) {
  double sum = candidate.stable() ? 0 : 1e6;
  for (const Target& target : plan.meet) sum += violation(target, candidate.metric(target.metric).mean);
  return sum;
}

// The entries that no other beats in both; from cheap to dear.
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

class Search {
 public:
  Search(const Plan& plan, Judge& judge) : plan_(plan), judge_(judge) {
    std::size_t longest = 0;
    for (std::size_t d = 0; d < plan.search.size(); ++d) {
      const std::size_t size = plan.search[d].values.size();
      result_.configurations *= static_cast<int64_t>(size);
      if (!plan.search[d].is_range || size <= longest) continue;
      longest = size;
      bisected_ = static_cast<int64_t>(d);
    }
  }

  PlanResult run() {
    look_at_combinations();
    std::vector<Line> lines = lines_of_survivors();
    for (std::size_t begin = 0; begin < lines.size();) {
      std::vector<Line*> wave;
      for (; begin < lines.size() && wave.size() < kWave; ++begin) {
        const double floor = lines[begin].floor;
        if (!std::isfinite(floor) || floor <= best_objective_ + kObjectiveError * std::abs(best_objective_)) {
          wave.push_back(&lines[begin]);
        }
      }
      bisect(wave);
    }
    judge_all(likely_front());
    conclude();
    return std::move(result_);
  }

 private:
  // A combination of list values.
  struct Combination {
    Point top, bottom;  // all ranges at their last and first value
    Answer glance_top, glance_bottom;
  };
  // The values of one range, everything else fixed.
  struct Line {
    Point point;
    double floor = kInfinity;  // of the objective, as a short workload tells it
    std::size_t misses = 0;    // index of the largest value known to miss
    std::size_t meets = 0;     // and of the smallest known to meet
    bool done = false;
  };

  std::size_t last(std::size_t dimension) const { return plan_.search[dimension].values.size() - 1; }

  // Every choice of the dimensions for which `varies`, the others as in `from`.
  template <class Varies>
  std::vector<Point> grid(const Point& from, const Varies& varies) const {
    std::vector<Point> points = {from};
    for (std::size_t d = 0; d < plan_.search.size(); ++d) {
      if (!varies(d)) continue;
      std::vector<Point> finer;
      for (const Point& point : points) {
        for (std::size_t i = 0; i <= last(d); ++i) {
          finer.push_back(point);
          finer.back()[d] = i;
        }
      }
      points = std::move(finer);
    }
    return points;
  }

  std::vector<Changes> changes_of(const std::vector<Point>& points) const {
    std::vector<Changes> changes;
    for (const Point& point : points) changes.push_back(changes_at(plan_.search, point));
    return changes;
  }

  double objective(const RunResult& result) const { return result.number(plan_.minimize); }
  double objective(const Candidate& candidate) const { return candidate.metric(plan_.minimize).mean; }

  // Short workloads for all, longer ones for those that are left.
  void look_at_combinations() {
    const auto is_list = [&](std::size_t d) { return !plan_.search[d].is_range; };
    for (Point& bottom : grid(Point(plan_.search.size(), 0), is_list)) {
      Combination one{.top = bottom, .bottom = std::move(bottom), .glance_top = {}, .glance_bottom = {}};
      for (std::size_t d = 0; d < one.top.size(); ++d) {
        if (!is_list(d)) one.top[d] = last(d);
      }
      combinations_.push_back(std::move(one));
    }
    std::vector<Point> bottoms;
    for (const Combination& one : combinations_) bottoms.push_back(one.bottom);
    std::vector<Answer> answers = judge_.glance(changes_of(bottoms), kGlanceShares[0]);
    for (std::size_t i = 0; i < answers.size(); ++i) combinations_[i].glance_bottom = std::move(answers[i]);
    for (double share : kGlanceShares) {
      std::vector<Point> tops;
      for (const Combination& one : combinations_) tops.push_back(one.top);
      answers = judge_.glance(changes_of(tops), share);
      for (std::size_t i = 0; i < answers.size(); ++i) combinations_[i].glance_top = std::move(answers[i]);
      drop_what_cannot_run();
      remember_for_the_front();
      halve();
    }
  }

  void drop_what_cannot_run() {
    for (const Combination& one : combinations_) {
      if (one.glance_top.reason.empty()) continue;
      if (result_.cannot_run++ == 0) result_.cannot_run_reason = one.glance_top.reason;
    }
    std::erase_if(combinations_, [](const Combination& one) { return !one.glance_top.reason.empty(); });
  }

  void halve() {
    const auto misses = [&](const Combination& one) { return total_violation(plan_, one.glance_top.result); };
    std::stable_sort(combinations_.begin(), combinations_.end(),
                     [&](const Combination& a, const Combination& b) { return misses(a) < misses(b); });
    const std::size_t half = (combinations_.size() + 1) / 2;
    const std::size_t before = combinations_.size();
    while (combinations_.size() > half &&
           misses(combinations_.back()) > misses(combinations_.front()) + kWidely) {
      combinations_.pop_back();
    }
    result_.dropped += static_cast<int64_t>(before - combinations_.size());
  }

  struct Seen {
    Point point;
    double objective, quality;
  };
  void remember_for_the_front() {
    const auto remember = [&](const Point& point, const Answer& answer) {
      if (!answer.reason.empty() || !is_stable(answer.result)) return;
      seen_.push_back({point, objective(answer.result), answer.result.number(kFrontMetric)});
    };
    for (const Combination& one : combinations_) {
      remember(one.top, one.glance_top);
      if (one.bottom != one.top) remember(one.bottom, one.glance_bottom);
    }
  }
  std::vector<Point> likely_front() const {
    std::vector<Point> points;
    for (const Seen& one : non_dominated(
             seen_, [](const Seen& seen) { return seen.objective; },
             [](const Seen& seen) { return seen.quality; })) {
      points.push_back(one.point);
    }
    return points;
  }

  std::vector<Line> lines_of_survivors() const {
    std::vector<Line> lines;
    for (const Combination& one : combinations_) {
      const auto is_other_range = [&](std::size_t d) {
        return plan_.search[d].is_range && static_cast<int64_t>(d) != bisected_;
      };
      const double floor = one.glance_bottom.reason.empty() ? objective(one.glance_bottom.result) : kInfinity;
      for (Point& point : grid(one.bottom, is_other_range)) {
        lines.push_back({.point = std::move(point), .floor = floor});
      }
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.floor < b.floor; });
    return lines;
  }

  Point at(const Line& line, std::size_t value) const {
    Point point = line.point;
    if (bisected_ >= 0) point[static_cast<std::size_t>(bisected_)] = value;
    return point;
  }

  // What other points of the same combination say: more does not hurt, less does not help.
  std::optional<bool> implied(const Point& point) const {
    for (const auto& [known, meets] : verdicts_) {
      bool comparable = true;
      for (std::size_t d = 0; d < point.size() && comparable; ++d) {
        comparable = !plan_.search[d].is_range ? known[d] == point[d]
                     : meets                   ? known[d] <= point[d]
                                               : known[d] >= point[d];
      }
      if (comparable) return meets;
    }
    return {};
  }

  // Whether each point meets every target, simulated where nothing implies it.
  std::vector<bool> meets(const std::vector<Point>& points) {
    std::vector<Point> open;
    for (const Point& point : points) {
      if (!implied(point)) open.push_back(point);
    }
    judge_all(open);
    std::vector<bool> answers;
    for (const Point& point : points) answers.push_back(*implied(point));
    return answers;
  }

  void judge_all(const std::vector<Point>& points) {
    const std::vector<const Candidate*> candidates = judge_.judge(changes_of(points));
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool good = candidates[i]->verdict == Verdict::meets;
      verdicts_.emplace_back(points[i], good);
      judged_.emplace(points[i], candidates[i]);
      if (good) best_objective_ = std::min(best_objective_, objective(*candidates[i]));
    }
  }

  // Largest value first, then the smallest, then between what misses and what meets.
  void bisect(const std::vector<Line*>& lines) {
    const std::size_t top = bisected_ < 0 ? 0 : last(static_cast<std::size_t>(bisected_));
    const auto ask = [&](const auto& value_of, const auto& learn) {
      std::vector<Line*> open;
      std::vector<Point> points;
      for (Line* line : lines) {
        if (line->done) continue;
        open.push_back(line);
        points.push_back(at(*line, value_of(*line)));
      }
      const std::vector<bool> answers = meets(points);
      for (std::size_t i = 0; i < open.size(); ++i) learn(*open[i], answers[i]);
      return !open.empty();
    };
    ask([&](const Line&) { return top; },
        [&](Line& line, bool good) {
          line.meets = top;
          line.done = !good || top == 0;
        });
    ask([](const Line&) { return 0; }, [](Line& line, bool good) { line.done = good || line.meets <= 1; });
    const auto middle = [](const Line& line) { return line.misses + (line.meets - line.misses) / 2; };
    while (ask(middle, [&](Line& line, bool good) {
      (good ? line.meets : line.misses) = middle(line);
      line.done = line.meets <= line.misses + 1;
    })) {
    }
  }

  bool better(const Candidate& a, const Candidate& b) const {
    const double difference = objective(a) - objective(b);
    if (std::abs(difference) > kEqual * std::abs(objective(b))) return difference < 0;
    return a.metric(kFrontMetric).mean < b.metric(kFrontMetric).mean;
  }

  // Is `other` clearly no better than `best`? Same seeds, so that what they share cancels.
  bool clearly_behind(const Candidate& other, const Candidate& best) const {
    const std::size_t runs = std::min(other.runs.size(), best.runs.size());
    std::vector<double> differences;
    for (std::size_t r = 0; r < runs; ++r) {
      differences.push_back(objective(other.runs[r]) - objective(best.runs[r]));
    }
    const MeanInterval interval = mean_interval(differences);
    const double equal = kEqual * std::abs(objective(best));
    if (std::isnan(interval.half_width) || interval.half_width <= equal) return interval.mean >= -equal;
    return interval.mean > interval.half_width;
  }

  void find_best() {
    result_.best = nullptr;
    for (const auto& [point, candidate] : judged_) {
      if (candidate->verdict != Verdict::meets) continue;
      if (result_.best && !better(*candidate, *result_.best)) continue;
      result_.best = candidate;
      result_.best_point = point;
    }
  }

  // Undecided and cheaper, or as good as the best as far as one can tell.
  std::vector<const Candidate*> rivals_of_the_best() const {
    std::vector<const Candidate*> rivals;
    for (const auto& [point, candidate] : judged_) {
      if (candidate == result_.best) continue;
      const bool undecided =
          candidate->verdict == Verdict::unclear && (!result_.best || better(*candidate, *result_.best));
      const bool close = candidate->verdict == Verdict::meets && !clearly_behind(*candidate, *result_.best);
      if (undecided || close) rivals.push_back(candidate);
    }
    return rivals;
  }

  void conclude() {
    for (bool more = true; more;) {
      find_best();
      result_.rivals = rivals_of_the_best();
      more = false;
      for (const Candidate* rival : result_.rivals) {
        if (rival->verdict != Verdict::meets) continue;
        const bool first = judge_.replicate(*rival);
        more = judge_.replicate(*result_.best) || first || more;
      }
    }
    for (const auto& [point, candidate] : judged_) {
      if (candidate->verdict == Verdict::cannot_run) continue;
      result_.judged.push_back(candidate);
    }
    // Equals stay in the order of the plan's values, small ones first.
    const auto by_objective = [&](const Candidate* a, const Candidate* b) { return better(*a, *b); };
    std::stable_sort(result_.judged.begin(), result_.judged.end(), by_objective);
    std::stable_sort(result_.rivals.begin(), result_.rivals.end(), by_objective);
    for (const Candidate* candidate : result_.judged) {
      if (!result_.nearest || total_violation(plan_, *candidate) < total_violation(plan_, *result_.nearest)) {
        result_.nearest = candidate;
      }
    }
    std::vector<const Candidate*> stable = result_.judged;
    std::erase_if(stable, [](const Candidate* one) { return !one->stable(); });
    result_.front = non_dominated(
        stable, [&](const Candidate* one) { return objective(*one); },
        [](const Candidate* one) { return one->metric(kFrontMetric).mean; });
  }

  const Plan& plan_;
  Judge& judge_;
  int64_t bisected_ = -1;  // the longest range; -1: there is none
  std::vector<Combination> combinations_;
  std::vector<Seen> seen_;
  std::vector<std::pair<Point, bool>> verdicts_;
  std::map<Point, const Candidate*> judged_;
  double best_objective_ = kInfinity;
  PlanResult result_{.configurations = 1};
};

}  // namespace

double slack(const Target& target, double value) {
  if (std::isnan(value)) return -kInfinity;
  const auto share = [](double room, double bound) { return room / std::max(std::abs(bound), 1e-300); };
  double least = kInfinity;
  if (std::isfinite(target.max)) least = std::min(least, share(target.max - value, target.max));
  if (std::isfinite(target.min)) least = std::min(least, share(value - target.min, target.min));
  return least;
}

double violation(const Target& target, double value) { return std::max(0.0, -slack(target, value)); }

MeanInterval Candidate::metric(const std::string& name) const {
  std::vector<double> values;
  for (const RunResult& run : runs) values.push_back(run.number(name));
  return mean_interval(values);
}

bool Candidate::stable() const { return !runs.empty() && std::all_of(runs.begin(), runs.end(), is_stable); }

std::vector<Answer> Judge::glance(const std::vector<Changes>& wanted, double share) {
  std::vector<Ask> asks;
  for (const Changes& changes : wanted) asks.push_back({.changes = changes, .share = share});
  return evaluator_.run(asks);
}

void Judge::run_up_to(const std::vector<Entry*>& entries, int64_t replications) {
  std::vector<Ask> asks;
  std::vector<Entry*> owners;
  for (Entry* entry : entries) {
    for (auto r = static_cast<int64_t>(entry->candidate.runs.size()); r < replications; ++r) {
      asks.push_back(
          {.changes = entry->candidate.changes, .replication = r, .context_scale = entry->context_scale});
      owners.push_back(entry);
    }
  }
  std::vector<Answer> answers = evaluator_.run(asks);
  KVCAP_CHECK(answers.size() == asks.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Candidate& candidate = owners[i]->candidate;
    if (answers[i].reason.empty()) {
      candidate.runs.push_back(std::move(answers[i].result));
    } else {
      candidate.verdict = Verdict::cannot_run;
      candidate.reason = answers[i].reason;
    }
  }
  for (Entry* entry : entries) decide(entry->candidate);
}

void Judge::decide(Candidate& candidate) const {
  if (candidate.verdict == Verdict::cannot_run) return;
  candidate.verdict = Verdict::meets;
  candidate.reason.clear();
  if (!candidate.stable()) {
    candidate.verdict = Verdict::misses;
    candidate.reason = "unstable";
    return;
  }
  double worst = 0;
  for (const Target& target : plan_.meet) {
    const MeanInterval value = candidate.metric(target.metric);
    const double half_width = std::isnan(value.half_width) ? 0 : value.half_width;
    const double low = value.mean - half_width, high = value.mean + half_width;
    const bool missed = std::isnan(value.mean) || low > target.max || high < target.min;
    const bool met = low >= target.min && high <= target.max;
    if (missed && (candidate.verdict != Verdict::misses || violation(target, value.mean) > worst)) {
      candidate.verdict = Verdict::misses;
      candidate.reason = target.metric;
      worst = violation(target, value.mean);
    } else if (!met && candidate.verdict == Verdict::meets) {
      candidate.verdict = Verdict::unclear;
      candidate.reason = target.metric;
    }
  }
}

std::vector<const Candidate*> Judge::judge(const std::vector<Changes>& wanted, double context_scale) {
  std::vector<Entry*> open;
  for (const Changes& changes : wanted) {
    const auto [found, is_new] = entries_.try_emplace({changes, context_scale});
    if (!is_new) continue;
    found->second.candidate.changes = changes;
    found->second.context_scale = context_scale;
    open.push_back(&found->second);
  }
  for (int64_t replications = std::min(kFirstReplications, plan_.max_replications); !open.empty();) {
    run_up_to(open, replications);
    std::erase_if(open, [&](const Entry* entry) {
      return entry->candidate.verdict != Verdict::unclear || replications >= plan_.max_replications;
    });
    replications = std::min(2 * replications, plan_.max_replications);
  }
  std::vector<const Candidate*> judged;
  for (const Changes& changes : wanted) judged.push_back(&entries_.at({changes, context_scale}).candidate);
  return judged;
}

bool Judge::replicate(const Candidate& candidate) {
  const auto runs = static_cast<int64_t>(candidate.runs.size());
  if (runs >= plan_.max_replications) return false;
  run_up_to({&entries_.at({candidate.changes, 1})}, std::min(2 * runs, plan_.max_replications));
  return true;
}

PlanResult find_plan(const Plan& plan, Judge& judge) { return Search(plan, judge).run(); }

}  // namespace kvcap
