#include "advise/why.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "advise/advice.h"
#include "advise/flips.h"
#include "base/resource.h"

namespace kvcap {
namespace {

using ValueOf = std::function<double(const RunResult&)>;

ValueOf metric(std::string name) {
  return [name = std::move(name)](const RunResult& run) { return run.number(name); };
}

struct TtftPart {
  const char* name;
  ValueOf value_ms;
};

std::vector<TtftPart> ttft_parts() {
  std::vector<TtftPart> parts;
  for (const char* name : {"retries", "api"}) {
    parts.push_back({name, [name](const RunResult& run) {
                       const double part_ms = run.number(std::string("ttft_breakdown_ms.") + name);
                       return std::isnan(part_ms) ? 0 : part_ms;  // results of older builds lack this part
                     }});
  }
  for (const char* name : {"queue", "lookup", "load", "restore_compute"}) {
    parts.push_back({name, metric(std::string("ttft_breakdown_ms.") + name)});
  }
  parts.push_back({"prefill", [](const RunResult& run) {
                     return run.number("ttft_breakdown_ms.prefill") - run.number("mean_batching_ms");
                   }});
  parts.push_back({"batching", metric("mean_batching_ms")});
  return parts;
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
  if (plan.minimize.starts_with("cost.")) {
    for (const PricedPart& part : kPricedParts) {
      why.costs.push_back({part.name, paired_difference(best, other, [&](const RunResult& run) {
                             return part_of_objective(plan, run, part);
                           })});
    }
  }
  why.ttft_ms = paired_difference(best, other, metric("mean_ttft_ms"));
  for (const TtftPart& part : ttft_parts()) {
    why.ttft_parts_ms.push_back({part.name, paired_difference(best, other, part.value_ms)});
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

}  // namespace kvcap
