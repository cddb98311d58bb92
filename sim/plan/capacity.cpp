#include "plan/capacity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/float_values.h"
#include "base/input_error.h"
#include "metrics/serialize.h"
#include "metrics/statistics/percentile_share.h"
#include "metrics/statistics/stability.h"
#include "plan/replicate.h"
#include "plan/sweep/sources.h"
#include "plan/workers.h"
#include "run/simulate.h"
#include "workload/arrivals.h"

namespace kvcap {
namespace {

constexpr double kLoadError = 0.05;  // error probability of a load's verdict, over all targets together
// A run that misses a target by more than this share of the target's bound is assumed to miss the target in
// steady state, too.
constexpr double kByFarOfLoads = 0.5;
// Least number of turns per seed, chosen so that 100 turns lie beyond a 99th percentile. The tolerance is
// needed because sessions have different numbers of turns, so a run cannot have an exact number.
constexpr int64_t kFewestTurns = 10'000;
constexpr double kTolerance = 1.1;
// Upper limit of the search, as a multiple of the guess.
constexpr double kMostOfGuess = 1000, kMostOfGuessClosed = 64;
constexpr double kSessionsOfActive = 8;
constexpr double kFine = 0.25;
constexpr double kFirstStep = 1.3;    // factor between the guess and the next load
constexpr double kLeastShare = 1e-3;  // lowest load, as a share of the guess; if it misses, every load does
constexpr double kCurve[] = {0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25};  // multiples of the capacity

// How a load meets a condition: `missed` tells whether the means over the seeds miss it, `is_sure` whether
// both ends of the interval give the same verdict.
struct Finding {
  bool missed = false;
  bool is_sure = true;
};

// Converts an upper bound on a percentile into a bound on the share of turns beyond the bound. Returns other
// targets unchanged, and targets whose share the run does not contain.
Target as_share(const Target& target, const RunResult& run) {
  const auto share = allowed_share(target.metric);
  const std::string name = beyond_share_name(target.metric);
  if (!share || std::isfinite(target.min) || std::isnan(run.number(name))) return target;
  return {.metric = name, .max = *share};
}

Finding of_target(const Target& asked, const LoadPoint& point, double confidence) {
  const Target target = as_share(asked, point.runs.front());
  const MeanInterval found = point.metric(target.metric, confidence);
  const bool missed = violation(target, found.mean) > 0;
  const double half = std::isnan(found.half_width) ? 0 : found.half_width;
  const auto agrees = [&](double value) { return (violation(target, value) > 0) == missed; };
  return {missed, agrees(found.mean - half) && agrees(found.mean + half)};
}

// Judges stability: a load is stable if most of its runs are. The verdict is sure if all runs are stable, or
// if some are saturated and none is stable.
Finding of_stability(const LoadPoint& point) {
  const auto count = [&](double stable) {
    return std::count_if(point.runs.begin(), point.runs.end(),
                         [&](const RunResult& run) { return run.number("stable") == stable; });
  };
  const auto stable = count(1), saturated = count(0);
  const bool missed = 2 * stable <= std::ssize(point.runs);
  return {missed, missed ? saturated > 0 && stable == 0 : stable == std::ssize(point.runs)};
}

void judge(LoadPoint& point, const std::vector<Target>& meet) {
  point.missed.clear();
  bool is_sure = true, sure_miss = false;
  const auto add = [&](const Finding& found, std::string_view condition) {
    if (found.missed && point.missed.empty()) point.missed = condition;
    is_sure = is_sure && found.is_sure;
    sure_miss = sure_miss || (found.missed && found.is_sure);
  };
  for (const RunResult& run : point.runs) {
    if (const std::string_view missing = unserved(run, meet); !missing.empty()) add({true, true}, missing);
  }
  const double confidence = 1 - kLoadError / static_cast<double>(std::max<std::size_t>(1, meet.size()));
  for (const Target& target : meet) add(of_target(target, point, confidence), target.metric);
  add(of_stability(point), "stable");
  point.verdict = sure_miss ? Judgement::misses : is_sure ? Judgement::meets : Judgement::unclear;
}

// True iff the run misses a target by so much that a longer run is assumed to miss it, too.
bool misses_by_far(const RunResult& run, const std::vector<Target>& meet) {
  if (run.number("stable") == 0) return true;
  if (run.number("rates.steady") == 0) return false;
  return std::any_of(meet.begin(), meet.end(), [&](const Target& target) {
    // A minimum, such as a hit rate, may still be reached as caches fill.
    return std::isfinite(target.max) && violation(target, run.number(target.metric)) > kByFarOfLoads;
  });
}

bool meets_by_far(const RunResult& run, const std::vector<Target>& meet) {
  return std::all_of(meet.begin(), meet.end(), [&](const Target& target) {
    const Target share = as_share(target, run);
    return slack(share, run.number(share.metric)) > kByFarOfLoads;
  });
}

class CapacitySearch {
 public:
  CapacitySearch(const CapacityQuestion& question, const RunLoads& run) : question_(question), run_(run) {}

  CapacityAnswer find() {
    CapacityAnswer answer;
    try {
      bracket();
      add_curve(answer);
      if (question_.seeds > 1) add_ends(answer);
    } catch (const Interrupted&) {
      if (points_.empty()) throw;
      answer.is_interrupted = true;
      answer.curve.clear();
      for (const auto& [load, point] : points_) answer.curve.push_back(point);
    }
    answer.load = low_;
    if (std::isfinite(high_)) answer.limit = points_.at(high_).missed;
    if (question_.seeds == 1 || answer.is_interrupted) {
      answer.sure = low_;
      answer.beyond = high_;
    }
    for (auto& [load, point] : points_) answer.points.push_back(std::move(point));
    return answer;
  }

 private:
  void bracket() {
    while (!is_done()) {
      const LoadPoint& point = at(next());
      (point.missed.empty() ? low_ : high_) = point.load;
    }
  }

  void add_curve(CapacityAnswer& answer) {
    for (double share : kCurve) {
      const double load = whole(share * low_);
      if (load > (answer.curve.empty() ? 0 : answer.curve.back().load)) answer.curve.push_back(at(load));
    }
  }

  // Finds the ends of the interval and adds both loads to the curve, so that the curve shows the runs that
  // decided them.
  void add_ends(CapacityAnswer& answer) {
    answer.sure = lower_end(low_);
    answer.beyond = upper_end(high_);
    std::vector<LoadPoint>& curve = answer.curve;
    for (const double end : {answer.sure, answer.beyond}) {
      const auto place = std::lower_bound(curve.begin(), curve.end(), end,
                                          [](const LoadPoint& one, double load) { return one.load < load; });
      const bool is_there = place != curve.end() && place->load == end;
      if (end > 0 && std::isfinite(end) && !curve.empty() && !is_there) curve.insert(place, at(end));
    }
  }
  double most() const {
    return question_.guess * (question_.closed_loop ? kMostOfGuessClosed : kMostOfGuess);
  }
  double least() const { return question_.guess * kLeastShare; }
  double whole(double load) const { return question_.closed_loop ? std::round(load) : load; }
  bool are_close(double low, double high) const {
    if (question_.closed_loop) return high - low <= std::max(1.0, question_.precision * low);
    return high <= low * (1 + question_.precision);
  }
  // Returns a load between `low` and `high`. In a closed loop, it is a whole number of sessions that differs
  // from both.
  double between(double low, double high) const {
    const double load = std::sqrt(low * high);
    return question_.closed_loop ? std::clamp(std::round(load), low + 1, high - 1) : load;
  }

  bool is_done() const {
    if (low_ == 0) return high_ <= std::max(least(), question_.closed_loop ? 1.0 : 0.0);
    return std::isinf(high_) ? low_ >= most() : are_close(low_, high_);
  }
  double next() const {
    if (low_ > 0 && std::isfinite(high_)) return between(low_, high_);
    if (low_ > 0) return upwards(low_);
    if (std::isinf(high_)) return whole(question_.guess);
    return downwards(high_, high_ > question_.guess / 4 ? kFirstStep : 4);
  }
  double upwards(double load) const {
    return question_.closed_loop ? std::max(load + 1, std::round(load * kFirstStep)) : load * kFirstStep;
  }
  double downwards(double load, double step) const {
    return question_.closed_loop ? std::clamp(std::round(load / step), 1.0, load - 1) : load / step;
  }

  const LoadPoint& at(double load) {
    const auto found = points_.find(load);
    if (found != points_.end()) return found->second;
    return points_.emplace(load, run_long_enough(load)).first->second;
  }

  // True iff the end of the interval between `low` and `high` is known well enough: to the requested
  // precision or, in an open loop, to a quarter of its distance from the estimate.
  bool is_fine(double low, double high, double estimate) const {
    return are_close(low, high) ||
           (!question_.closed_loop && high - low <= kFine * std::max(high - estimate, estimate - low));
  }

  // Returns the highest load up to which every condition is met with confidence. `load`: the highest load
  // whose means meet every condition, which is an upper limit.
  double lower_end(double load) {
    while (load > least()) {
      double sure = 0, above = load;
      for (const auto& [at, point] : points_) {
        if (at > load) break;
        if (point.verdict != Judgement::meets) {
          above = at;
          break;
        }
        sure = at;
      }
      if (sure == load || (sure > 0 && is_fine(sure, above, load))) return sure;
      if (sure == 0 && (above <= least() || (question_.closed_loop && above <= 1))) return 0;
      at(sure > 0 ? between(sure, above) : downwards(above, kFirstStep));
    }
    return 0;
  }
  // Returns the lowest load from which on some condition is missed with confidence.
  double upper_end(double load) {
    while (std::isfinite(load)) {
      double sure = kInfinity, below = load;
      for (auto at = points_.rbegin(); at != points_.rend() && at->first >= load; ++at) {
        if (at->second.verdict != Judgement::misses) {
          below = at->first;
          break;
        }
        sure = at->first;
      }
      if (sure == load || (std::isfinite(sure) && is_fine(below, sure, load))) return sure;
      if (std::isinf(sure) && below >= most()) return kInfinity;
      at(std::isfinite(sure) ? between(below, sure) : upwards(below));
    }
    return kInfinity;
  }

  // Runs a load under all seeds concurrently, until its runs are long enough.
  LoadPoint run_long_enough(double load) {
    int64_t first = first_sessions(load);
    // In a closed loop, most sessions must start because another one ended, not at the start of the run.
    while (question_.closed_loop && static_cast<double>(first) < kSessionsOfActive * load) first *= 2;
    LoadPoint point{.load = load, .runs = std::vector<RunResult>(static_cast<std::size_t>(question_.seeds))};
    std::vector<LoadAsk> open;
    for (int64_t seed = 0; seed < question_.seeds; ++seed) open.push_back({load, seed, first});
    while (!open.empty()) {
      std::vector<RunResult> results = run_(open);
      KVCAP_CHECK(results.size() == open.size());
      for (std::size_t i = 0; i < open.size(); ++i)
        point.runs[static_cast<std::size_t>(open[i].seed)] = std::move(results[i]);
      judge(point, question_.meet);
      open = to_be_longer(point, open.front().sessions);
    }
    return point;
  }
  // Returns the number of sessions in the first runs of a load: the smaller of the numbers that the two
  // neighbouring loads needed, but at least question_.sessions.
  int64_t first_sessions(double load) const {
    const auto above = points_.lower_bound(load);
    if (above == points_.begin() || above == points_.end()) return question_.sessions;
    const auto sessions = [](const LoadPoint& point) {
      int64_t fewest = point.runs.front().session_count;
      for (const RunResult& run : point.runs) fewest = std::min(fewest, run.session_count);
      return fewest;
    };
    return std::max(question_.sessions,
                    std::min(sessions(above->second), sessions(std::prev(above)->second)));
  }
  // Returns the runs to repeat with more sessions. If a target is near or most runs have not settled, repeats
  // all runs, so that no lucky run is kept while an unlucky run is repeated; otherwise repeats only the runs
  // whose stability is unknown. The new number of sessions yields enough turns, and is at least twice the old
  // one.
  std::vector<LoadAsk> to_be_longer(const LoadPoint& point, int64_t sessions) const {
    const auto all = [&](const auto& is_so) {
      return std::all_of(point.runs.begin(), point.runs.end(), is_so);
    };
    const std::vector<Target>& meet = question_.meet;
    const bool misses = all([&](const RunResult& run) { return misses_by_far(run, meet); });
    const bool is_precise = all([&](const RunResult& run) {
                              return run.number("stable") == 0 ||
                                     kTolerance * static_cast<double>(run.turn_count) >= kFewestTurns;
                            }) ||
                            all([&](const RunResult& run) { return meets_by_far(run, meet); });
    const auto settled = std::count_if(point.runs.begin(), point.runs.end(), [](const RunResult& run) {
      return !std::isnan(run.number("warmup.detected_turns"));
    });
    int64_t turns = 0;
    for (const RunResult& run : point.runs) turns += run.turn_count;
    const bool has_settled = 2 * settled >= question_.seeds || 2 * turns > kMostSearchedTurns;
    // A load that misses a target with confidence needs no verdict on stability.
    if (is_precise && has_settled && point.verdict == Judgement::misses) return {};
    const bool is_told = misses || (is_precise && has_settled);
    const double wanted = static_cast<double>(kFewestTurns * question_.seeds);
    const double times = is_precise || turns == 0 ? 2 : std::max(2.0, wanted / static_cast<double>(turns));
    const auto more = static_cast<int64_t>(std::ceil(times * static_cast<double>(sessions)));
    std::vector<LoadAsk> longer;
    for (std::size_t seed = 0; seed < point.runs.size(); ++seed) {
      const RunResult& run = point.runs[seed];
      const double stable = run.number("stable");
      const bool knows = !std::isnan(stable) && run.number("rates.steady") != 0;
      if (stable == 0 || (is_told && (knows || misses)) || 2 * run.turn_count * question_.seeds > kMostTurns)
        continue;
      longer.push_back({point.load, static_cast<int64_t>(seed), more});
    }
    return longer;
  }

  const CapacityQuestion& question_;
  const RunLoads& run_;
  std::map<double, LoadPoint> points_;
  double low_ = 0, high_ = kInfinity;  // bracket by means: low_ meets every condition, high_ misses one
};

// Returns the scenario at the requested load.
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

std::string key_of(const LoadAsk& ask) {
  char text[96];
  std::snprintf(text, sizeof text, " load %.17g seed %lld sessions %lld", ask.load,
                static_cast<long long>(ask.seed), static_cast<long long>(ask.sessions));
  return text;
}

std::string load_text(const Scenario& scenario, double load) {
  const bool is_loop = scenario.workload.arrivals.process == ArrivalProcess::closed_loop;
  char text[64];
  std::snprintf(text, sizeof text, is_loop ? "%.0f concurrent sessions" : "%.3g requests/s", load);
  return text;
}

std::string name_of(const Scenario& scenario, const LoadAsk& ask) {
  return "the simulation of " + scenario.name + " at " + load_text(scenario, ask.load) + ", seed " +
         std::to_string(scenario.seed + static_cast<uint64_t>(ask.seed));
}

}  // namespace

MeanInterval LoadPoint::metric(const std::string& name, double confidence) const {
  std::vector<double> values;
  for (const RunResult& run : runs) values.push_back(run.number(name));
  return mean_interval(values, confidence);
}

Verdict LoadPoint::stability() const {
  const auto all = [&](double stable) {
    return std::all_of(runs.begin(), runs.end(),
                       [&](const RunResult& run) { return run.number("stable") == stable; });
  };
  return all(1) ? Verdict::stable : all(0) ? Verdict::saturated : Verdict::undecided;
}

CapacityAnswer find_capacity(const CapacityQuestion& question, const RunLoads& run) {
  KVCAP_CHECK(question.seeds >= 1 && question.guess > 0);
  return CapacitySearch(question, run).find();
}

std::vector<Target> targets_of(const SloOptions& slo) {
  std::vector<Target> targets;
  if (slo.ttft_ms) targets.push_back({.metric = "p99_ttft_ms", .max = *slo.ttft_ms});
  if (slo.tpot_ms) targets.push_back({.metric = "p99_tpot_ms", .max = *slo.tpot_ms});
  return targets;
}

double load_of(const Scenario& scenario) {
  const ArrivalOptions& arrivals = scenario.workload.arrivals;
  if (arrivals.process == ArrivalProcess::closed_loop) return static_cast<double>(*arrivals.concurrency);
  Sources sources;
  sources.read(scenario);
  const Workload workload = sources.workload(scenario, scenario.workload);
  const double turns_per_session =
      static_cast<double>(workload.turns.size()) / static_cast<double>(workload.sessions.size());
  if (arrivals.rates.empty()) return constant_rate(arrivals, turns_per_session) * turns_per_session;
  double most = 0;
  for (const ArrivalRate& one : arrivals.rates)
    most = std::max(most, one.requests_per_s.value_or(turns_per_session * one.sessions_per_s.value_or(0)));
  return most;
}

RunLoads simulated_loads(Scenario scenario, const std::vector<Target>& meet, const FinishedRuns& finished) {
  scenario.workload.sessions.reset();  // use all sessions of a file
  const auto sources = std::make_shared<Sources>();
  sources->read(scenario);
  std::string key = finished.key_of(scenario);
  for (const Target& target : meet) {
    if (allowed_share(target.metric)) key += " " + target.metric + " " + std::to_string(target.max);
  }
  return [scenario, sources, meet, finished, key](const std::vector<LoadAsk>& asks) {
    const std::vector<std::string> messages = run_in_workers(
        asks.size(),
        [&](std::size_t job, std::atomic<int64_t>& done_units) {
          const auto simulated = [&] {
            const Scenario one = at_load(scenario, asks[job]);
            Scenario seeded = scenario;
            seeded.seed = one.seed;
            RunResult result = simulate(one, sources->workload(seeded, one.workload));
            for (const Target& target : meet) {
              if (!allowed_share(target.metric)) continue;
              result.metrics.push_back(
                  {beyond_share_name(target.metric), share_beyond(result.turns, target.metric, target.max)});
            }
            return serialize(without_curves(std::move(result)));
          };
          const std::string message = finished.get(key + key_of(asks[job]), simulated);
          ++done_units;
          return message;
        },
        {.total_units = static_cast<int64_t>(asks.size()),
         .label = "trying " + load_text(scenario, asks.front().load),
         .is_part = true,
         .name = [&](std::size_t job) { return name_of(scenario, asks[job]); },
         .hint = finished.hint()});
    std::vector<RunResult> results;
    results.reserve(messages.size());
    for (const std::string& one : messages) results.push_back(deserialize(one));
    return results;
  };
}

}  // namespace kvcap
