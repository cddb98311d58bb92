#include <fmt/core.h>

#include "base/text/format.h"
#include "text/model_text.h"
#include "text/plan/plan_text.h"
#include "text/plan/plan_words.h"

namespace kvcap {

std::string plan_draws_text(const Plan& plan, const PlanDraws& draws) {
  if (draws.draws == 0) return "";
  Page page;
  page.line();
  page.sentence(fmt::format(
      "How far the model can be trusted, on {} plausible machines, which agree with the "
      "measurements{}:",
      draws.draws,
      draws.is_shortened ? fmt::format(" (runs of {})", format_count(draws.sessions, "session")) : ""));
  const Finalist& answer = draws.finalists.front();
  std::string trust =
      fmt::format("  the answer meets every target on {}", machines_text(answer.meets, draws.draws));
  if (draws.finalists.size() > 1) {
    trust += fmt::format(" and is the cheapest of {} finalists that do on {}", draws.finalists.size(),
                         machines_text(draws.still_best, draws.draws));
  }
  page.sentence(trust, "    ");
  for (const ModelInterval& one : answer.intervals) {
    if (format_number(one.low) == format_number(one.high)) continue;
    page.sentence(fmt::format("  {}: 80 % of machines lie in {}..{}", one.name, format_number(one.low),
                              format_number(one.high)),
                  "    ");
  }
  for (std::size_t f = 1; f < draws.finalists.size(); ++f) {
    const Finalist& one = draws.finalists[f];
    page.sentence(fmt::format("  {} at {} {} meets them on {}", values_of(one.candidate->changes),
                              plan.minimize, format_number(one.candidate->metric(plan.minimize).mean),
                              machines_text(one.meets, draws.draws)),
                  "    ");
  }
  if (!draws.outside.empty()) {
    page.line("Not validated; this assumes:");
    for (const std::string& one : draws.outside) page.sentence("  " + one + ".", "    ");
  }
  return page.take();
}

}  // namespace kvcap
