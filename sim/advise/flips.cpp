#include "advise/flips.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "advise/perturb.h"
#include "advise/why.h"
#include "metrics/statistics/intervals.h"
#include "scenario/fields.h"

namespace kvcap {
namespace {

const double kStep = std::sqrt(2);  // factor of one step outwards
constexpr double kFarthest = 4;
constexpr double kPrecision = 1.05;  // ratio of the two factors that bracket a flip
// The number of cheaper candidates to run; those that miss the targets by least are chosen.
constexpr std::size_t kMostCheaper = 2;

bool is_missing(const Candidate& one) { return one.verdict != Judgement::meets; }

// Returns the changes that multiply the traffic by `share`.
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

Trial with_traffic(const Candidate& candidate, const ArrivalOptions& arrivals, double share) {
  Trial trial{candidate.changes};
  for (std::string& change : traffic_changes(arrivals, share)) trial.changes.push_back(std::move(change));
  return trial;
}

// A search for a flip: the factor moves from 1 in one direction until the answer flips or the limit is
// reached.
struct Walk {
  Flip flip;
  std::vector<const Candidate*> candidates;  // candidates to run at each factor, the answer first
  bool is_scale = false;                     // true: scales prompts; false: traffic
  double step = kStep;                       // below 1: the factor decreases
  bool brackets = false;                     // the answer holds at flip.holds and flips at flip.factor
  bool has_ended = false;                    // no factor is left to run
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
  const auto misses = [&](const Candidate& one) {
    double sum = one.stable() ? 0 : 1;
    for (const Target& target : plan.meet) sum += violation(target, one.metric(target.metric).mean);
    return sum;
  };
  std::vector<const Candidate*> cheaper;
  for (const Candidate* one : result.judged) {
    if (is_missing(*one) && objective(plan, *one) < objective(plan, *result.best)) cheaper.push_back(one);
  }
  std::stable_sort(cheaper.begin(), cheaper.end(),
                   [&](const Candidate* a, const Candidate* b) { return misses(*a) < misses(*b); });
  cheaper.resize(std::min(cheaper.size(), kMostCheaper));
  return cheaper;
}

std::vector<Walk> all_walks(const Plan& plan, const PlanResult& result, const ArrivalOptions& arrivals) {
  std::vector<Walk> walks;
  for (bool is_scale : {false, true}) {
    if (!is_scale && arrivals.process == ArrivalProcess::trace) continue;
    for (double step : {kStep, 1 / kStep}) {
      Walk& walk = walks.emplace_back(Walk{.flip = {.what = is_scale ? "prompts" : "traffic"},
                                           .candidates = {result.best},
                                           .is_scale = is_scale,
                                           .step = step});
      if (step > 1) continue;
      for (const Candidate* one : nearest_cheaper(plan, result)) walk.candidates.push_back(one);
    }
  }
  return walks;
}

// Continues a walk with the verdicts at its next factor. `there`: the walk's candidates, run at that factor.
void advance(const Plan& plan, Walk& walk, const std::vector<Candidate>& there) {
  if (there.front().verdict == Judgement::cannot_run) {
    walk.has_ended = true;
    walk.is_possible = false;
    return;
  }
  const double factor = walk.next();
  std::size_t cheapest = 0;
  for (std::size_t c = 1; c < there.size(); ++c) {
    if (!is_missing(there[c]) && objective(plan, there[c]) < objective(plan, there[cheapest])) cheapest = c;
  }
  if (cheapest > 0) {
    walk.flips_at(factor, "", walk.candidates[cheapest]->changes);
  } else if (is_missing(there.front())) {
    walk.flips_at(factor, there.front().reason, {});
  } else {
    walk.holds_at(factor);
  }
}

std::vector<Flip> load_flips(const Plan& plan, const PlanResult& result, const ArrivalOptions& arrivals,
                             Judge& judge) {
  std::vector<Walk> walks = all_walks(plan, result, arrivals);
  const auto propose = [&] {
    std::vector<Trial> trials;
    for (const Walk& walk : walks) {
      for (const Candidate* one : walk.candidates) {
        if (walk.has_ended) continue;
        trials.push_back(walk.is_scale ? Trial{one->changes, walk.next()}
                                       : with_traffic(*one, arrivals, walk.next()));
      }
    }
    return trials;
  };
  const auto tell = [&](const std::vector<const Candidate*>& judged) {
    auto next = judged.begin();
    for (Walk& walk : walks) {
      if (walk.has_ended) continue;
      std::vector<Candidate> there;
      while (there.size() < walk.candidates.size()) there.push_back(judge.by_first_seed(**next++));
      advance(plan, walk, there);
    }
  };
  perturb({"advice: where the answer flips", Look::one_seed, propose, tell}, judge);
  std::vector<Flip> flips;
  for (Walk& one : walks) {
    if (one.is_possible) flips.push_back(std::move(one.flip));
  }
  return flips;
}

// Returns, for the price of each part of a machine, the factors f at which another candidate costs as much as
// the answer. If the part contributes p to the objective `best` of the answer and q to the objective `other`
// of the candidate, f solves best + (f - 1) p = other + (f - 1) q.
std::vector<Flip> price_flips(const Plan& plan, const PlanResult& result) {
  std::vector<Flip> flips;
  if (!minimizes_cost(plan)) return flips;
  const Candidate& best = *result.best;
  for (const PricedPart& part : kPricedParts) {
    const double of_best = part_of_objective(plan, best, part);
    std::optional<Flip> up, down;
    for (const Candidate* one : result.judged) {
      if (one == &best || is_missing(*one)) continue;
      const double of_one = part_of_objective(plan, *one, part);
      const double difference = real_difference(objective(plan, *one), objective(plan, best));
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

std::vector<Stress> stress(const PlanResult& result, const ArrivalOptions& arrivals, Judge& judge) {
  std::vector<Stress> tests;
  std::vector<Trial> trials;
  if (arrivals.process != ArrivalProcess::trace) {
    for (double share : {0.8, 1.2}) {
      tests.push_back({share < 1 ? "traffic -20 %" : "traffic +20 %"});
      trials.push_back(with_traffic(*result.best, arrivals, share));
    }
  }
  for (double scale : {1.2, 1.5}) {
    tests.push_back({scale < 1.3 ? "prompts 20 % longer" : "prompts 50 % longer"});
    trials.push_back({result.best->changes, scale});
  }
  const auto tell = [&](const std::vector<const Candidate*>& judged) {
    for (std::size_t i = 0; i < tests.size(); ++i) tests[i].candidate = judged[i];
  };
  perturb({"advice: other traffic and prompts", Look::verdict, once(std::move(trials)), tell}, judge);
  std::erase_if(tests, [](const Stress& one) {
    return one.candidate->context_scale != 1 && one.candidate->verdict == Judgement::cannot_run;
  });
  return tests;
}

std::vector<Flip> find_flips(const Plan& plan, const PlanResult& result, const ArrivalOptions& arrivals,
                             Judge& judge) {
  std::vector<Flip> flips = price_flips(plan, result);
  for (Flip& one : load_flips(plan, result, arrivals, judge)) flips.push_back(std::move(one));
  std::stable_sort(flips.begin(), flips.end(), [](const Flip& a, const Flip& b) {
    if (a.is_found != b.is_found) return a.is_found;
    return std::abs(std::log(a.factor)) < std::abs(std::log(b.factor));
  });
  return flips;
}

}  // namespace kvcap
