#include "advise/draws.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "metrics/model_report.h"
#include "metrics/statistics/quantiles.h"
#include "plan/replicate.h"
#include "run/drawn_scenario.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

constexpr std::size_t kMostFinalists = 5;

// The verdict on one finalist on one machine.
struct DrawVerdict {
  bool meets = false;
  double objective = 0;
};

// Returns a metric of a finalist on a drawn machine.
using MetricOn = std::function<double(const std::string& metric, const RunResult& drawn)>;

// Returns the verdict on a finalist from its run on a drawn machine. Short runs often do not show whether the
// finalist is stable; unlike Judge, this function then assumes so.
DrawVerdict verdict_on(const Plan& plan, const RunResult& drawn, const MetricOn& metric_on) {
  if (drawn.turn_count == 0) return {};  // the machine cannot run the candidate
  const bool meets = std::all_of(plan.meet.begin(), plan.meet.end(), [&](const Target& target) {
    return violation(target, metric_on(target.metric, drawn)) == 0;
  });
  return {meets && !is_saturated(drawn) && unserved(drawn, plan.meet).empty(),
          metric_on(plan.minimize, drawn)};
}

std::vector<ModelInterval> intervals(const Plan& plan, const std::vector<RunResult>& drawn,
                                     const MetricOn& metric_on) {
  std::vector<std::string> metrics = {plan.minimize};
  for (const Target& target : plan.meet) metrics.push_back(target.metric);
  std::vector<ModelInterval> intervals;
  for (const std::string& metric : metrics) {
    std::vector<double> values;
    for (const RunResult& one : drawn) values.push_back(metric_on(metric, one));
    // A value is NaN if the machine cannot run the candidate.
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    if (values.empty()) continue;
    std::sort(values.begin(), values.end());
    intervals.push_back({metric, quantile_of_sorted(values, (1 - kModelShare) / 2),
                         quantile_of_sorted(values, (1 + kModelShare) / 2),
                         static_cast<int64_t>(values.size())});
  }
  return intervals;
}

}  // namespace

std::vector<const Candidate*> finalists_of(const PlanResult& result) {
  std::vector<const Candidate*> finalists;
  const auto add = [&finalists](const Candidate* one) {
    const bool is_new = std::find(finalists.begin(), finalists.end(), one) == finalists.end();
    if (one && !one->runs.empty() && is_new && finalists.size() < kMostFinalists) finalists.push_back(one);
  };
  add(result.best);
  add(result.next_better);
  const auto dearer = std::find_if(result.judged.begin(), result.judged.end(), [&](const Candidate* one) {
    return one != result.best && one->verdict == Judgement::meets;
  });
  if (dearer != result.judged.end()) add(*dearer);
  for (const Candidate* rival : result.rivals) add(rival);
  return finalists;
}

PlanDraws draw_finalists(const Plan& plan, const PlanResult& result, const DrawOptions& options) {
  if (!result.best || options.draws == 0) return {};
  std::vector<Scenario> scenarios;
  std::vector<RunResult> lengths;
  const std::vector<const Candidate*> candidates = finalists_of(result);
  for (const Candidate* one : candidates) {
    scenarios.push_back(in_steady_state(load_scenario(plan.base, one->changes)));
    lengths.push_back(one->runs.front());
  }
  PlanDraws draws = judge_finalists(plan, candidates, draw_machines(scenarios, lengths, options));
  draws.outside = outside_validation({scenarios.front()}, longest_context(lengths.front()));
  return draws;
}

PlanDraws judge_finalists(const Plan& plan, const std::vector<const Candidate*>& candidates,
                          const ModelDraws& runs) {
  PlanDraws draws{.draws = runs.draws, .sessions = runs.sessions, .is_shortened = runs.is_shortened};
  std::vector<std::vector<DrawVerdict>> verdicts;  // [finalist][draw]
  for (std::size_t f = 0; f < candidates.size(); ++f) {
    const auto metric_on = [&](const std::string& metric, const RunResult& drawn) {
      return on_machine(candidates[f]->metric(metric).mean, runs.nominal[f].number(metric),
                        drawn.number(metric));
    };
    std::vector<DrawVerdict>& of_machines = verdicts.emplace_back();
    for (const RunResult& drawn : runs.drawn[f]) of_machines.push_back(verdict_on(plan, drawn, metric_on));
    const auto met = std::count_if(of_machines.begin(), of_machines.end(),
                                   [](const DrawVerdict& one) { return one.meets; });
    draws.finalists.push_back({candidates[f], static_cast<double>(met) / static_cast<double>(runs.draws),
                               intervals(plan, runs.drawn[f], metric_on)});
  }
  int64_t still_best = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(runs.draws); ++d) {
    const DrawVerdict& best = verdicts.front()[d];
    const bool beaten = std::any_of(verdicts.begin() + 1, verdicts.end(), [&](const auto& of_machines) {
      return of_machines[d].meets && is_lower(of_machines[d].objective, best.objective);
    });
    still_best += best.meets && !beaten ? 1 : 0;
  }
  draws.still_best = static_cast<double>(still_best) / static_cast<double>(runs.draws);
  return draws;
}

}  // namespace kvcap
