#include "advise/advice.h"

#include "plan/workers.h"

namespace kvcap {

Advice advise(const Plan& plan, const PlanResult& result, Judge& judge, int64_t draws) {
  Advice advice{.prices = price_changes(plan, result), .why = why(plan, result)};
  try {
    advice.marginals = marginal_values(plan, result, judge);
    const Scenario answer = load_scenario(plan.base, result.best->changes);
    advice.stresses = stress(result, answer.workload.arrivals, judge);
    advice.flips = find_flips(plan, result, answer.workload.arrivals, judge);
    // Draws the full number of machines, because even that takes far fewer turns than the search did.
    advice.draws = draw_finalists(plan, result, {.draws = draws});
  } catch (const Interrupted&) {
    advice.is_interrupted = true;
  }
  return advice;
}

}  // namespace kvcap
