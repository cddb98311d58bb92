// Explains why the answer of a plan does not use a value of the plan's lists.
#include <functional>
#include <optional>

#include "advise/search.h"
#include "base/float_values.h"

namespace kvcap {
namespace {

using Why = Discarded::Why;
using HasValue = std::function<bool(const Point&)>;

// Returns the cheapest configuration with the value that meets the targets; if there is none, the cheapest
// one that meets them on a short workload.
std::optional<Discarded> dearer(const Plan& plan, const JudgedPoints& judged, const Screening& screening,
                                const HasValue& has_value) {
  std::optional<Discarded> found;
  const auto is_cheaper = [&](double cost) { return !found || cost < found->objective; };
  for (const auto& [point, one] : judged) {
    if (!has_value(point) || one->verdict != Judgement::meets || !is_cheaper(objective(plan, *one))) continue;
    found = {.why = Why::dearer, .objective = objective(plan, *one), .changes = one->changes};
  }
  if (found) return found;
  for (const Combination& one : screening.left) {
    const bool is_likely = total_violation(plan, one.at_top.result) == 0 && one.at_bottom.reason.empty();
    if (!has_value(one.top) || !is_likely || judged.contains(one.top)) continue;
    const double estimate = objective(plan, one.at_bottom.result);
    if (!is_cheaper(estimate)) continue;
    found = {.why = Why::dearer,
             .objective = estimate,
             .is_estimate = true,
             .changes = changes_at(plan, one.bottom)};
  }
  return found;
}

// Returns the judged configuration with the value that misses the targets by least.
std::optional<Discarded> nearest(const Plan& plan, const JudgedPoints& judged, const HasValue& has_value) {
  const Candidate* nearest = nullptr;
  for (const auto& [point, one] : judged) {
    if (!has_value(point) || one->verdict == Judgement::cannot_run) continue;
    if (!nearest || total_violation(plan, *one) < total_violation(plan, *nearest)) nearest = one;
  }
  if (!nearest) return {};
  return Discarded{.why = nearest->verdict == Judgement::unclear ? Why::unclear : Why::misses,
                   .objective = objective(plan, *nearest),
                   .reason = nearest->reason,
                   .found = nearest->metric(nearest->reason).mean,
                   .changes = nearest->changes};
}

// Returns the configuration with the value that misses the targets by least on short workloads.
Discarded nearest_on_short(const Plan& plan, const Screening& screening, const HasValue& has_value) {
  Discarded found{.why = Why::cannot_run};
  double least = kInfinity;
  for (const auto* list : {&screening.left, &screening.gone}) {
    for (const Combination& one : *list) {
      const RunResult& run = one.at_top.result;
      if (!has_value(one.top)) continue;
      if (!one.at_top.reason.empty()) {
        if (found.reason.empty()) found.reason = one.at_top.reason;
        continue;
      }
      const double misses = total_violation(plan, run);
      // A saturated configuration has an infinite violation, but it can run.
      if (found.why != Why::cannot_run && misses >= least) continue;
      least = misses;
      const Target* worst = worst_target(plan, run);
      found = {.why = worst || is_saturated(run) ? Why::misses : Why::unclear,
               .objective = objective(plan, run),
               .is_estimate = true,
               .reason = is_saturated(run) ? "unstable"
                         : worst           ? worst->metric
                                           : "stable",
               .found = worst ? run.number(worst->metric) : NAN,
               .changes = changes_at(plan, one.top)};
    }
  }
  return found;
}

}  // namespace

std::vector<Discarded> discarded_values(const Plan& plan, const JudgedPoints& judged, const Point* best,
                                        const Screening& screening) {
  std::vector<Discarded> discarded;
  for (std::size_t d = 0; d < plan.search.size(); ++d) {
    const Dimension& dimension = plan.search[d];
    if (dimension.is_range) continue;
    for (std::size_t value = 0; value < dimension.values.size(); ++value) {
      const auto has_value = [&](const Point& point) { return point[d] == value; };
      if (best && has_value(*best)) continue;
      std::optional<Discarded> why = dearer(plan, judged, screening, has_value);
      if (!why) why = nearest(plan, judged, has_value);
      if (!why) why = nearest_on_short(plan, screening, has_value);
      why->value = dimension.name() + "=" + dimension.values[value];
      discarded.push_back(*why);
    }
  }
  return discarded;
}

}  // namespace kvcap
