#include "plan/capacity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/input_error.h"
#include "metrics/serialize.h"
#include "plan/plan_judge.h"
#include "plan/replicate.h"
#include "plan/sources.h"
#include "plan/workers.h"
#include "simulate.h"

namespace kvcap {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A target that is missed by so much more than its bound is missed in the long run too: a share of the bound.
constexpr double kByFar = 0.5;
// A 99th percentile rests on 200 of so many turns.
constexpr int64_t kFewestTurns = 20'000;
// Beyond so many times the guess nothing is looked for.
constexpr double kMostOfGuess = 1000, kMostOfGuessClosed = 64;
constexpr double kSessionsOfActive = 8;
constexpr double kFirstStep = 1.3;    // from the guess outwards
constexpr double kLeastShare = 1e-3;  // of the guess: if that misses, everything does
constexpr double kCurve[] = {0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25};  // of the capacity

// The first condition that does not hold; empty: all do.
std::string missed_by(const RunResult& result, const std::vector<Target>& meet) {
  const std::string_view missing = unserved(result, meet);
  if (!missing.empty()) return std::string(missing);
  for (const Target& target : meet) {
    if (violation(target, result.number(target.metric)) > 0) return target.metric;
  }
  return result.number("stable") == 1 ? "" : "stable";
}

bool misses_by_far(const RunResult& result, const std::vector<Target>& meet) {
  if (result.number("rates.steady") == 0) return false;
  return std::any_of(meet.begin(), meet.end(), [&](const Target& target) {
    // A hit rate may rise as caches fill.
    return std::isfinite(target.max) && violation(target, result.number(target.metric)) > kByFar;
  });
}

// Whether it has the turns that percentiles need next to their bounds.
bool is_precise(const RunResult& result, const std::vector<Target>& meet) {
  return result.turn_count >= kFewestTurns ||
         std::all_of(meet.begin(), meet.end(), [&](const Target& target) {
           return slack(target, result.number(target.metric)) > kByFar;
         });
}

// The search under one seed.
struct Bracket {
  double low = 0, high = kInfinity;
  std::string missed;  // at `high`

  bool is_done(const CapacityQuestion& question) const {
    if (low == 0 && high <= question.guess * kLeastShare) return true;
    const double most = question.closed_loop ? kMostOfGuessClosed : kMostOfGuess;
    if (std::isinf(high) && low >= question.guess * most) return true;
    if (question.closed_loop) return high - low <= std::max(1.0, question.precision * low);
    return high <= low * (1 + question.precision);
  }
  double next(const CapacityQuestion& question) const {
    double load = question.guess;
    if (std::isinf(high)) {
      if (low > 0) load = low * kFirstStep;
    } else if (low == 0) {
      load = high / (high > question.guess / 4 ? kFirstStep : 4);
    } else {
      load = std::sqrt(low * high);
    }
    if (!question.closed_loop) return load;
    const double most = std::isinf(high) ? kInfinity : std::max(low + 1, high - 1);
    return std::clamp(std::round(load), low + 1, most);
  }
};

// Runs them side by side, as long as it takes.
std::vector<Attempt> attempts_at(const CapacityQuestion& question, const RunLoads& run,
                                 const std::vector<LoadAsk>& asks) {
  std::vector<Attempt> attempts(asks.size());
  for (std::size_t i = 0; i < asks.size(); ++i) {
    attempts[i].ask = asks[i];
    // Most sessions of a closed loop are to begin when others have ended.
    int64_t& sessions = attempts[i].ask.sessions;
    while (question.closed_loop && static_cast<double>(sessions) < kSessionsOfActive * asks[i].load)
      sessions *= 2;
  }
  std::vector<std::size_t> open(asks.size());
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
  while (!open.empty()) {
    std::vector<LoadAsk> wanted;
    for (std::size_t i : open) wanted.push_back(attempts[i].ask);
    std::vector<RunResult> results = run(wanted);
    KVCAP_CHECK(results.size() == wanted.size());
    std::vector<std::size_t> longer;
    for (std::size_t i = 0; i < open.size(); ++i) {
      Attempt& attempt = attempts[open[i]];
      attempt.result = std::move(results[i]);
      attempt.missed = missed_by(attempt.result, question.meet);
      const RunResult& result = attempt.result;
      const bool tells = result.number("stable") == 0 ||
                         (tells_the_long_run(result) && is_precise(result, question.meet)) ||
                         misses_by_far(result, question.meet) || 2 * result.turn_count > kMostSearchedTurns;
      if (tells) continue;
      attempt.ask.sessions *= 2;
      longer.push_back(open[i]);
    }
    open = std::move(longer);
  }
  return attempts;
}

std::string most_frequent(const std::vector<Bracket>& brackets) {
  std::map<std::string, int> counts;
  for (const Bracket& one : brackets) ++counts[one.missed];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// The load that a scenario says.
Scenario at_load(Scenario scenario, const LoadAsk& ask) {
  WorkloadOptions& workload = scenario.workload;
  if (workload.arrivals.process == ArrivalProcess::closed_loop) {
    workload.arrivals.concurrency = std::llround(ask.load);
  } else {
    workload.arrivals.sessions_per_s.reset();
    workload.arrivals.rates.clear();
    workload.arrivals.requests_per_s = ask.load;
  }
  workload.sessions = ask.sessions;
  scenario.seed += static_cast<uint64_t>(ask.seed);
  return in_steady_state(std::move(scenario));
}

}  // namespace

CapacityAnswer find_capacity(const CapacityQuestion& question, const RunLoads& run) {
  KVCAP_CHECK(question.seeds >= 1 && question.guess > 0);
  CapacityAnswer answer;
  std::vector<Bracket> brackets(static_cast<std::size_t>(question.seeds));
  while (true) {
    std::vector<LoadAsk> asks;
    for (std::size_t seed = 0; seed < brackets.size(); ++seed) {
      if (brackets[seed].is_done(question)) continue;
      asks.push_back({brackets[seed].next(question), static_cast<int64_t>(seed), question.sessions});
    }
    if (asks.empty()) break;
    for (Attempt& attempt : attempts_at(question, run, asks)) {
      Bracket& bracket = brackets[static_cast<std::size_t>(attempt.ask.seed)];
      (attempt.missed.empty() ? bracket.low : bracket.high) = attempt.ask.load;
      if (!attempt.missed.empty()) bracket.missed = attempt.missed;
      answer.attempts.push_back(std::move(attempt));
    }
  }
  std::vector<double> loads;
  double widest = 0;  // what no number of seeds makes narrower
  for (const Bracket& one : brackets) {
    loads.push_back(one.low);
    if (std::isfinite(one.high)) widest = std::max(widest, one.high - one.low);
  }
  answer.load = mean_interval(loads);
  if (widest > 0) answer.load.half_width = std::fmax(answer.load.half_width, widest);
  answer.limit = most_frequent(brackets);
  std::vector<LoadAsk> curve;
  for (double share : kCurve) {
    double load = share * answer.load.mean;
    if (question.closed_loop) load = std::round(load);
    if (load > (curve.empty() ? 0 : curve.back().load)) curve.push_back({load, 0, question.sessions});
  }
  answer.curve = attempts_at(question, run, curve);
  return answer;
}

std::vector<Target> targets_of(const SloOptions& slo) {
  std::vector<Target> targets;
  if (slo.ttft_ms) targets.push_back({.metric = "p99_ttft_ms", .max = *slo.ttft_ms});
  if (slo.tpot_ms) targets.push_back({.metric = "p99_tpot_ms", .max = *slo.tpot_ms});
  return targets;
}

RunLoads simulated_loads(Scenario scenario) {
  scenario.workload.sessions.reset();  // of a file, all there are
  const auto sources = std::make_shared<Sources>();
  sources->read(scenario);
  return [scenario, sources](const std::vector<LoadAsk>& asks) {
    const std::vector<std::string> messages = run_in_workers(
        asks.size(),
        [&](std::size_t job, std::atomic<int64_t>& done_units) {
          const Scenario one = at_load(scenario, asks[job]);
          Scenario seeded = scenario;
          seeded.seed = one.seed;
          const RunResult result = without_curves(simulate(one, sources->workload(seeded, one.workload)));
          ++done_units;
          return serialize(result);
        },
        {.total_units = static_cast<int64_t>(asks.size()), .label = "simulating"});
    std::vector<RunResult> results;
    results.reserve(messages.size());
    for (const std::string& one : messages) results.push_back(deserialize(one));
    return results;
  };
}

}  // namespace kvcap
