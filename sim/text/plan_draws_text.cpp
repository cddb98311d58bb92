#include "base/text/format.h"
#include "text/model_text.h"
#include "text/plan_text.h"
#include "text/plan_words.h"

namespace kvcap {

std::string plan_draws_text(const Plan& plan, const PlanDraws& draws) {
  if (draws.draws == 0) return "";
  Page page;
  page.line();
  page.sentence("How far the model can be trusted: on " + std::to_string(draws.draws) +
                " machines that are consistent with what was measured" +
                (draws.is_shortened ? ", runs of " + format_count(draws.sessions, "session") + ":" : ":"));
  const Finalist& answer = draws.finalists.front();
  page.sentence("  the answer meets every target in " + machines_text(answer.meets, draws.draws) +
                    (draws.finalists.size() > 1
                         ? " and is the cheapest of " + std::to_string(draws.finalists.size()) +
                               " finalists that do in " + machines_text(draws.still_best, draws.draws)
                         : ""),
                "    ");
  for (const ModelInterval& one : answer.intervals) {
    if (format_number(one.low) == format_number(one.high)) continue;
    page.sentence("  " + one.name + ": 80 % of machines lie in " + format_number(one.low) + ".." +
                      format_number(one.high),
                  "    ");
  }
  for (std::size_t f = 1; f < draws.finalists.size(); ++f) {
    const Finalist& one = draws.finalists[f];
    page.sentence("  " + values_of(one.candidate->changes) + " at " + plan.minimize + " " +
                      format_number(one.candidate->metric(plan.minimize).mean) + " meets them in " +
                      machines_text(one.meets, draws.draws),
                  "    ");
  }
  if (!draws.outside.empty()) {
    page.line("Outside of validation, so that this says nothing of it or rests on an assumption:");
    for (const std::string& one : draws.outside) page.sentence("  " + one + ".", "    ");
  }
  return page.take();
}

}  // namespace kvcap
