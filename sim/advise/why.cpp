#include "advise/why.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/resource.h"

namespace kvcap {
namespace {

using ValueOf = std::function<double(const RunResult&)>;

ValueOf metric(std::string name) {
  return [name = std::move(name)](const RunResult& run) { return run.number(name); };
}

constexpr const char* kTtftParts[] = {"retries",         "api",     "queue",   "lookup", "load",
                                      "restore_compute", "prefill", "batching"};

double ttft_part_ms(const RunResult& run, const std::string& part) {
  const double batching_ms = run.number("mean_batching_ms");
  if (part == "batching") return batching_ms;
  const double part_ms = run.number("ttft_breakdown_ms." + part);
  if (part == "prefill") return part_ms - batching_ms;
  const bool is_new = part == "retries" || part == "api";  // results of older builds lack this part
  return is_new && std::isnan(part_ms) ? 0 : part_ms;
}

// True iff the candidates differ in a non-numeric value, such as a policy or a machine.
bool differs_in_kind(const Plan& plan, const Candidate& one, const Candidate& other) {
  const auto value_of = [](const Candidate& candidate, const std::string& path) {
    for (const std::string& change : candidate.changes) {
      if (change.starts_with(path + "=")) return change;
    }
    return std::string();
  };
  return std::any_of(plan.search.begin(), plan.search.end(), [&](const Dimension& dimension) {
    const std::string& path = dimension.paths.front();
    return dimension.numbers.empty() && value_of(one, path) != value_of(other, path);
  });
}

const Candidate* runner_up(const Plan& plan, const PlanResult& result) {
  const Candidate* found = nullptr;
  for (const Candidate* one : result.judged) {
    if (one == result.best || one->verdict != Judgement::meets) continue;
    if (differs_in_kind(plan, *one, *result.best)) return one;
    if (!found) found = one;
  }
  return found ? found : result.next_better;
}

}  // namespace

Why why(const Plan& plan, const PlanResult& result) {
  Why why;
  why.runner_up = runner_up(plan, result);
  if (!why.runner_up) return why;
  const Candidate& best = *result.best;
  const Candidate& other = *why.runner_up;
  why.objective = paired_difference(best, other, metric(plan.minimize));
  if (minimizes_cost(plan)) {
    for (const PricedPart& part : kPricedParts) {
      why.costs.push_back({part.name, paired_difference(best, other, [&](const RunResult& run) {
                             return part_of_objective(plan, run, part);
                           })});
    }
  }
  why.ttft_ms = paired_difference(best, other, metric("mean_ttft_ms"));
  for (const char* part : kTtftParts) {
    why.ttft_parts_ms.push_back({part, paired_difference(best, other, [part](const RunResult& run) {
                                   return ttft_part_ms(run, part);
                                 })});
  }
  return why;
}

std::vector<BottleneckShare> bottleneck(const Candidate& candidate) {
  std::vector<BottleneckShare> shares;
  for (std::string_view resource : kResourceNames) {
    const double share = candidate.metric("bottleneck." + std::string(resource)).mean;
    if (share > 0) shares.push_back({std::string(resource), share});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const BottleneckShare& a, const BottleneckShare& b) { return a.share > b.share; });
  shares.push_back({"none", candidate.metric("bottleneck.none").mean});
  return shares;
}

const Target* binding_target(const Plan& plan, const Candidate& candidate) {
  const Target* binding = nullptr;
  double least = INFINITY;
  for (const Target& target : plan.meet) {
    const double room = slack(target, candidate.metric(target.metric).mean);
    if (room >= least) continue;
    least = room;
    binding = &target;
  }
  return binding;
}

bool minimizes_cost(const Plan& plan) { return plan.minimize.starts_with("cost."); }

double part_of_objective(const Plan& plan, const RunResult& run, const PricedPart& part) {
  const double total = run.number("cost.total_usd");
  const double usd = run.number(part.metric);
  return total > 0 && usd > 0 ? usd / total * objective(plan, run) : 0;
}

double part_of_objective(const Plan& plan, const Candidate& candidate, const PricedPart& part) {
  double sum = 0;
  for (const RunResult& run : candidate.runs) sum += part_of_objective(plan, run, part);
  return sum / static_cast<double>(candidate.runs.size());
}

std::vector<PriceChange> price_changes(const Plan& plan, const PlanResult& result) {
  std::vector<PriceChange> changes;
  if (!minimizes_cost(plan)) return changes;
  for (const PricedPart& part : kPricedParts) {
    if (!(result.best->metric(part.metric).mean > 0)) continue;
    for (double factor : {0.8, 1.2}) {
      const auto changed = [&](const Candidate& one) {
        return objective(plan, one) + (factor - 1) * part_of_objective(plan, one, part);
      };
      PriceChange change{.what = std::string(part.name) + " price " + (factor < 1 ? "-20 %" : "+20 %"),
                         .objective = changed(*result.best),
                         .best = result.best};
      for (const Candidate* one : result.judged) {
        if (one->verdict == Judgement::meets && is_lower(changed(*one), changed(*change.best))) {
          change.best = one;
        }
      }
      changes.push_back(std::move(change));
    }
  }
  return changes;
}

}  // namespace kvcap
