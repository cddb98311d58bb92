#include "advise/judge.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "metrics/unserved.h"
#include "plan/replicate.h"

namespace kvcap {
namespace {

constexpr int64_t kFirstReplications = 3;
constexpr double kConfigurationError = 0.05;  // error probability of all looks at one configuration together
// If the run of one seed misses a target by more than this share of the target's bound, no further seeds run.
constexpr double kHopeless = 1;

std::vector<int64_t> looks_up_to(int64_t most) {
  std::vector<int64_t> looks;
  for (int64_t runs = kFirstReplications; runs < most; runs *= 2) looks.push_back(runs);
  looks.push_back(most);
  return looks;
}

}  // namespace

MeanInterval Candidate::metric(const std::string& name) const {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const RunResult& run : runs) values.push_back(run.number(name));
  return mean_interval(values, confidence);
}

bool Candidate::stable() const {
  return !runs.empty() && std::all_of(runs.begin(), runs.end(),
                                      [](const RunResult& run) { return run.number("stable") == 1; });
}

MeanInterval paired_difference(const Candidate& one, const Candidate& other,
                               const std::function<double(const RunResult&)>& value) {
  std::vector<double> differences;
  for (std::size_t r = 0; r < std::min(one.runs.size(), other.runs.size()); ++r) {
    differences.push_back(real_difference(value(one.runs[r]), value(other.runs[r])));
  }
  return mean_interval(differences, one.confidence);
}

bool is_lower(double one, double other) {
  constexpr double kRounding = 1e-9;
  return one < other - kRounding * std::abs(other);
}

Judge::Judge(const Plan& plan, Evaluator& evaluator)
    : plan_(plan),
      evaluator_(evaluator),
      looks_(looks_up_to(plan.max_replications)),
      confidence_(1 - kConfigurationError / static_cast<double>(looks_.size())) {}

std::vector<Answer> Judge::glance(const std::vector<Trial>& wanted, double share) {
  std::vector<Ask> asks;
  asks.reserve(wanted.size());
  for (const Trial& one : wanted) {
    asks.push_back({.changes = one.changes, .share = share, .context_scale = one.context_scale});
  }
  return evaluator_.run(asks);
}

Candidate& Judge::own(const Candidate& candidate) {
  return candidates_.at({candidate.changes, candidate.context_scale});
}

// Runs `asks`, and lengthens each run until it represents the steady state or misses a target by far. Updates
// the shares in `asks`.
std::vector<Answer> Judge::long_enough(std::vector<Ask>& asks) {
  std::vector<Answer> answers = evaluator_.run(asks);
  KVCAP_CHECK(answers.size() == asks.size());
  while (true) {
    std::vector<std::size_t> open;
    std::vector<Ask> longer;
    for (std::size_t i = 0; i < asks.size(); ++i) {
      const Answer& answer = answers[i];
      if (!answer.may_be_longer || tells_the_long_run(answer.result) || misses_by_far(answer.result))
        continue;
      asks[i].share *= 2;
      open.push_back(i);
      longer.push_back(asks[i]);
    }
    if (open.empty()) return answers;
    std::vector<Answer> told = evaluator_.run(longer);
    for (std::size_t i = 0; i < open.size(); ++i) answers[open[i]] = std::move(told[i]);
  }
}

bool Judge::misses_by_far(const RunResult& result) const {
  if (result.number("rates.steady") == 0) return false;
  return std::any_of(plan_.meet.begin(), plan_.meet.end(), [&](const Target& target) {
    // A minimum, such as a hit rate, may still be reached as caches fill.
    return std::isfinite(target.max) && violation(target, result.number(target.metric)) > kHopeless;
  });
}

void Judge::run_up_to(const std::vector<Candidate*>& candidates, int64_t replications) {
  std::vector<Ask> asks;
  std::vector<Candidate*> owners;
  for (Candidate* one : candidates) {
    for (auto r = static_cast<int64_t>(one->runs.size()); r < replications; ++r) {
      asks.push_back({.changes = one->changes,
                      .share = one->first_share,
                      .replication = r,
                      .context_scale = one->context_scale});
      owners.push_back(one);
    }
  }
  const std::vector<Answer> answers = long_enough(asks);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].reason.empty()) {
      if (owners[i]->runs.empty()) owners[i]->first_share = asks[i].share;
      owners[i]->runs.push_back(answers[i].result);
    } else {
      owners[i]->verdict = Judgement::cannot_run;
      owners[i]->reason = answers[i].reason;
    }
  }
  for (Candidate* one : candidates) decide(*one);
}

void Judge::decide(Candidate& candidate) const {
  if (candidate.verdict == Judgement::cannot_run) return;
  candidate.verdict = Judgement::meets;
  candidate.reason.clear();
  const auto misses = [&](const std::string& reason) {
    candidate.verdict = Judgement::misses;
    candidate.reason = reason;
  };
  if (std::any_of(candidate.runs.begin(), candidate.runs.end(), is_saturated)) return misses("unstable");
  for (const RunResult& run : candidate.runs) {
    const std::string_view missing = unserved(run, plan_.meet);
    if (!missing.empty()) return misses(std::string(missing));
  }
  if (!candidate.stable()) {
    candidate.verdict = Judgement::unclear;
    candidate.reason = "stable";
  }
  double worst = 0;
  for (const Target& target : plan_.meet) {
    const MeanInterval value = candidate.metric(target.metric);
    const double half_width = std::isnan(value.half_width) ? 0 : value.half_width;
    const double low = value.mean - half_width, high = value.mean + half_width;
    const bool missed = std::isnan(value.mean) || low > target.max || high < target.min;
    const bool met = low >= target.min && high <= target.max;
    if (missed && (candidate.verdict != Judgement::misses || violation(target, value.mean) > worst)) {
      candidate.verdict = Judgement::misses;
      candidate.reason = target.metric;
      worst = violation(target, value.mean);
    } else if (!met && candidate.verdict == Judgement::meets) {
      candidate.verdict = Judgement::unclear;
      candidate.reason = target.metric;
    }
  }
}

// True iff the first run already shows that the candidate cannot win, so that no further seeds are run.
bool Judge::is_hopeless(const Candidate& candidate) const {
  if (candidate.verdict == Judgement::cannot_run) return true;
  const std::string& reason = candidate.reason;
  if (reason == "unstable" || std::ranges::find(kUnserved, reason) != std::end(kUnserved)) return true;
  return std::any_of(plan_.meet.begin(), plan_.meet.end(), [&](const Target& target) {
    return violation(target, candidate.runs.front().number(target.metric)) > kHopeless;
  });
}

std::vector<const Candidate*> Judge::look(const std::vector<Trial>& wanted, Look how) {
  std::vector<const Candidate*> candidates;
  std::vector<Candidate*> fresh;
  candidates.reserve(wanted.size());
  for (const Trial& one : wanted) {
    const auto [found, is_new] = candidates_.try_emplace(one);
    candidates.push_back(&found->second);
    if (!is_new) continue;
    found->second.changes = one.changes;
    found->second.context_scale = one.context_scale;
    found->second.confidence = confidence_;
    fresh.push_back(&found->second);
  }
  run_up_to(fresh, 1);
  if (how == Look::one_seed) return candidates;
  std::vector<const Candidate*> telling = candidates;
  if (how == Look::verdict) std::erase_if(telling, [&](const Candidate* one) { return is_hopeless(*one); });
  give_intervals(telling);
  return candidates;
}

Candidate Judge::by_first_seed(const Candidate& candidate) const {
  Candidate first = candidate;
  if (first.runs.size() > 1) first.runs.resize(1);
  decide(first);
  return first;
}

void Judge::look_again(const Candidate& candidate) {
  const auto next = std::upper_bound(looks_.begin(), looks_.end(), std::ssize(candidate.runs));
  if (next != looks_.end()) run_up_to({&own(candidate)}, *next);
}

bool Judge::is_open(const Candidate& candidate) const {
  return candidate.verdict == Judgement::unclear && std::ssize(candidate.runs) < plan_.max_replications;
}

void Judge::give_intervals(const std::vector<const Candidate*>& candidates) {
  std::vector<Candidate*> single;
  for (const Candidate* one : candidates) {
    const bool is_listed = std::find(single.begin(), single.end(), one) != single.end();
    if (one->runs.size() == 1 && !is_listed) single.push_back(&own(*one));
  }
  if (!single.empty()) run_up_to(single, looks_.front());
}

bool Judge::replicate(const Candidate& candidate) {
  const auto runs = static_cast<int64_t>(candidate.runs.size());
  if (runs >= plan_.max_replications) return false;
  run_up_to({&own(candidate)}, std::min(2 * runs, plan_.max_replications));
  return true;
}

}  // namespace kvcap
