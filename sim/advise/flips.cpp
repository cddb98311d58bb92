#include "advise/flips.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "metrics/statistics/intervals.h"
#include "scenario/fields.h"

namespace kvcap {
namespace {

const double kStep = std::sqrt(2);  // factor of one step outwards
constexpr double kFarthest = 4;
constexpr double kPrecision = 1.05;  // ratio of the two factors that bracket a flip
// The number of cheaper candidates to run; those that miss least are chosen.
constexpr std::size_t kMostCheaper = 2;

bool is_missing(const Candidate& one) { return one.verdict != Judgement::meets; }

// A walk from 1 in one direction, until the answer flips or the limit is reached.
struct Walk {
  Flip flip;
  bool is_scale = false;   // scales prompts; else traffic
  double step = kStep;     // below 1: downwards
  bool brackets = false;   // the answer flips at flip.factor
  bool has_ended = false;  // no factor is left to run
  bool is_possible = true;

  double next() const {
    const double factor = brackets ? std::sqrt(flip.holds * flip.factor) : flip.holds * step;
    return step > 1 ? std::min(factor, kFarthest) : std::max(factor, 1 / kFarthest);
  }
  void holds_at(double factor) {
    flip.holds = factor;
    const bool is_farthest = factor == kFarthest || factor == 1 / kFarthest;
    if (!brackets && is_farthest) end(false);
    end_if_close();
  }
  void flips_at(double factor, std::string reason, Changes better) {
    brackets = true;
    flip.factor = factor;
    flip.reason = std::move(reason);
    flip.better = std::move(better);
    end_if_close();
  }

 private:
  void end(bool is_found) {
    flip.is_found = is_found;
    if (!is_found) flip.factor = flip.holds;
    has_ended = true;
  }
  void end_if_close() {
    if (brackets && std::max(flip.factor / flip.holds, flip.holds / flip.factor) <= kPrecision) end(true);
  }
};

// Returns the judged candidates that are cheaper than the answer and miss a target, in ascending order of
// violation.
std::vector<const Candidate*> nearest_cheaper(const Plan& plan, const PlanResult& result) {
  const auto objective = [&](const Candidate& one) { return one.metric(plan.minimize).mean; };
  const auto misses = [&](const Candidate& one) {
    double sum = one.stable() ? 0 : 1;
    for (const Target& target : plan.meet) sum += violation(target, one.metric(target.metric).mean);
    return sum;
  };
  std::vector<const Candidate*> cheaper;
  for (const Candidate* one : result.judged) {
    if (is_missing(*one) && objective(*one) < objective(*result.best)) cheaper.push_back(one);
  }
  std::stable_sort(cheaper.begin(), cheaper.end(),
                   [&](const Candidate* a, const Candidate* b) { return misses(*a) < misses(*b); });
  cheaper.resize(std::min(cheaper.size(), kMostCheaper));
  return cheaper;
}

class Walks {
 public:
  Walks(const Plan& plan, const PlanResult& result, const ArrivalOptions& arrivals, Evaluator& evaluator)
      : plan_(with_one_run(plan)),
        judge_(plan_, evaluator),
        best_(*result.best),
        cheaper_(nearest_cheaper(plan, result)),
        arrivals_(arrivals) {}

  std::vector<Flip> run() {
    std::vector<Walk> walks;
    for (bool is_scale : {false, true}) {
      if (!is_scale && arrivals_.process == ArrivalProcess::trace) continue;
      for (double step : {kStep, 1 / kStep}) {
        walks.push_back(
            {.flip = {.what = is_scale ? "prompts" : "traffic"}, .is_scale = is_scale, .step = step});
      }
    }
    while (true) {
      // Walks with the same prompt scale run concurrently.
      std::map<double, std::vector<Walk*>> open;
      for (Walk& one : walks) {
        if (!one.has_ended) open[one.is_scale ? one.next() : 1].push_back(&one);
      }
      if (open.empty()) break;
      for (const auto& [scale, group] : open) look(group, scale);
    }
    std::vector<Flip> flips;
    for (Walk& one : walks) {
      if (one.is_possible) flips.push_back(std::move(one.flip));
    }
    return flips;
  }

 private:
  static Plan with_one_run(Plan plan) {
    plan.max_replications = 1;
    return plan;
  }

  Changes at(const Candidate& candidate, const Walk& walk) const {
    Changes changes = candidate.changes;
    if (walk.is_scale) return changes;
    for (std::string& change : traffic_changes(arrivals_, walk.next())) changes.push_back(std::move(change));
    return changes;
  }

  // Returns the candidates of a walk: the answer, and the cheaper ones if the load decreases.
  std::vector<const Candidate*> asked(const Walk& walk) const {
    std::vector<const Candidate*> candidates = {&best_};
    if (walk.step < 1) candidates.insert(candidates.end(), cheaper_.begin(), cheaper_.end());
    return candidates;
  }

  void look(const std::vector<Walk*>& walks, double scale) {
    std::vector<Changes> wanted;
    for (const Walk* walk : walks) {
      for (const Candidate* one : asked(*walk)) wanted.push_back(at(*one, *walk));
    }
    const std::vector<const Candidate*> found = judge_.judge(wanted, scale);
    auto next = found.begin();
    for (Walk* walk : walks) {
      const std::vector<const Candidate*> candidates = asked(*walk);
      const std::vector<const Candidate*> there(next, next + std::ssize(candidates));
      next += std::ssize(candidates);
      if (there.front()->verdict == Judgement::cannot_run) {
        walk->has_ended = true;
        walk->is_possible = false;
      } else {
        step(*walk, candidates, there);
      }
    }
  }

  // `there`: results of the candidates at the walk's next factor, the answer first.
  void step(Walk& walk, const std::vector<const Candidate*>& candidates,
            const std::vector<const Candidate*>& there) const {
    const double factor = walk.next();
    const auto objective = [&](const Candidate& one) { return one.metric(plan_.minimize).mean; };
    std::size_t cheapest = 0;
    for (std::size_t c = 1; c < there.size(); ++c) {
      if (!is_missing(*there[c]) && objective(*there[c]) < objective(*there[cheapest])) cheapest = c;
    }
    if (cheapest > 0) {
      walk.flips_at(factor, "", candidates[cheapest]->changes);
    } else if (is_missing(*there.front())) {
      walk.flips_at(factor, there.front()->reason, {});
    } else {
      walk.holds_at(factor);
    }
  }

  Plan plan_;
  Judge judge_;
  const Candidate& best_;
  std::vector<const Candidate*> cheaper_;
  ArrivalOptions arrivals_;
};

// Returns the factors of each part's price at which another candidate costs as much as the answer. If the
// part contributes p to the answer's objective and q to the other's: best + (f - 1) p = other + (f - 1) q.
std::vector<Flip> price_flips(const Plan& plan, const PlanResult& result) {
  std::vector<Flip> flips;
  if (!plan.minimize.starts_with("cost.")) return flips;
  const Candidate& best = *result.best;
  for (const PricedPart& part : kPricedParts) {
    const double of_best = part_of_objective(plan, best, part);
    std::optional<Flip> up, down;
    for (const Candidate* one : result.judged) {
      if (one == &best || is_missing(*one)) continue;
      const double of_one = part_of_objective(plan, *one, part);
      const double difference =
          real_difference(one->metric(plan.minimize).mean, best.metric(plan.minimize).mean);
      const double factor = 1 + difference / (of_best - of_one);
      if (!std::isfinite(factor) || factor <= 0 || factor == 1) continue;
      std::optional<Flip>& nearest = factor > 1 ? up : down;
      if (nearest && std::abs(std::log(factor)) >= std::abs(std::log(nearest->factor))) continue;
      nearest = Flip{.what = std::string(part.name) + " price",
                     .factor = factor,
                     .holds = factor,
                     .reason = {},
                     .better = one->changes};
    }
    for (std::optional<Flip>* one : {&up, &down}) {
      if (*one) flips.push_back(std::move(**one));
    }
  }
  return flips;
}

}  // namespace

Changes traffic_changes(const ArrivalOptions& arrivals, double share) {
  const std::string path = "workload.arrivals.";
  if (arrivals.process == ArrivalProcess::closed_loop) {
    const double sessions = static_cast<double>(arrivals.concurrency.value());
    const double changed = share < 1 ? std::floor(share * sessions) : std::ceil(share * sessions);
    return {path + "concurrency=" + number_text(std::max(1.0, changed))};
  }
  if (arrivals.requests_per_s)
    return {path + "requests_per_s=" + number_text(share * *arrivals.requests_per_s)};
  if (arrivals.rates.empty()) {
    const double rate = arrivals.sessions_per_s.value_or(kDefaultSessions_per_s);
    return {path + "sessions_per_s=" + number_text(share * rate)};
  }
  Changes changes;
  for (std::size_t i = 0; i < arrivals.rates.size(); ++i) {
    const ArrivalRate& one = arrivals.rates[i];
    const char* field = one.requests_per_s ? "requests_per_s" : "sessions_per_s";
    const double rate = one.requests_per_s ? *one.requests_per_s : *one.sessions_per_s;
    changes.push_back(path + "rates." + std::to_string(i) + "." + field + "=" + number_text(share * rate));
  }
  return changes;
}

double part_of_objective(const Plan& plan, const RunResult& run, const PricedPart& part) {
  const double total = run.number("cost.total_usd");
  const double usd = run.number(part.metric);
  return total > 0 && usd > 0 ? usd / total * run.number(plan.minimize) : 0;
}

double part_of_objective(const Plan& plan, const Candidate& candidate, const PricedPart& part) {
  double sum = 0;
  for (const RunResult& run : candidate.runs) sum += part_of_objective(plan, run, part);
  return sum / static_cast<double>(candidate.runs.size());
}

std::vector<Flip> find_flips(const Plan& plan, const PlanResult& result, const ArrivalOptions& arrivals,
                             Evaluator& evaluator) {
  evaluator.begin("advice: where the answer flips");
  std::vector<Flip> flips = price_flips(plan, result);
  for (Flip& one : Walks(plan, result, arrivals, evaluator).run()) flips.push_back(std::move(one));
  std::stable_sort(flips.begin(), flips.end(), [](const Flip& a, const Flip& b) {
    if (a.is_found != b.is_found) return a.is_found;
    return std::abs(std::log(a.factor)) < std::abs(std::log(b.factor));
  });
  return flips;
}

}  // namespace kvcap
