#include "text/plan/plan_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text/format.h"
#include "metrics/unserved.h"
#include "scenario/load.h"
#include "text/plan/plan_advice_text.h"
#include "text/plan/plan_words.h"
#include "text/titles.h"

namespace kvcap {
namespace {

const char* verdict_text(const Candidate& candidate) {
  switch (candidate.verdict) {
    case Judgement::meets:
      return "yes";
    case Judgement::unclear:
      return "unclear";
    case Judgement::misses:
    case Judgement::cannot_run:
      return "no";
  }
  return "";
}

char letter(std::size_t i) { return i < 26 ? static_cast<char>('a' + i) : '*'; }

// Draws the configurations of the front as letters: the objective grows to the right, the logarithm of
// kFrontMetric upwards.
void add_chart(Page& page, const PlanReport& report) {
  constexpr int kWidth = 72, kHeight = 12;
  const std::vector<const Candidate*>& front = report.result.front;
  if (front.size() < 2) return;
  const auto x = [&](const Candidate* one) { return one->metric(report.plan->minimize).mean; };
  const auto y = [](const Candidate* one) { return one->metric(kFrontMetric).mean; };
  const double left = x(front.front()), right = x(front.back());
  const double high = y(front.front()), low = y(front.back());
  if (!(right > left) || !(high > low) || !(low > 0)) return;
  std::vector<std::string> rows(kHeight, std::string(kWidth, ' '));
  for (std::size_t i = front.size(); i-- > 0;) {
    const double across = (x(front[i]) - left) / (right - left);
    const double up = std::log(y(front[i]) / low) / std::log(high / low);
    const auto row = static_cast<std::size_t>(std::lround((1 - up) * (kHeight - 1)));
    rows[row][static_cast<std::size_t>(std::lround(across * (kWidth - 1)))] = letter(i);
  }
  page.line();
  for (int row = 0; row < kHeight; ++row) {
    const std::string label = row == 0 ? format_number(high) : row == kHeight - 1 ? format_number(low) : "";
    std::string line = std::string(12 - std::min<std::size_t>(12, label.size()), ' ') + label + " |" +
                       rows[static_cast<std::size_t>(row)];
    line.erase(line.find_last_not_of(' ') + 1);
    page.line(line);
  }
  page.line(std::string(13, ' ') + '+' + std::string(kWidth, '-'));
  const std::string from = format_number(left), to = format_number(right);
  page.line(std::string(14, ' ') + from + std::string(kWidth - from.size() - to.size(), ' ') + to);
}

void add_front(Page& page, const PlanReport& report) {
  const Plan& plan = *report.plan;
  if (report.result.front.empty()) return;
  page.line();
  page.sentence("Pareto front of what has been judged, " + metric_title(plan.minimize) + " against " +
                metric_title(kFrontMetric) + " (only stable configurations):");
  page.line();
  char row[160];
  std::snprintf(row, sizeof row, "   %20s %20s %8s", metric_title(plan.minimize).c_str(),
                metric_title(kFrontMetric).c_str(), "meets");
  page.line(row);
  for (std::size_t i = 0; i < report.result.front.size(); ++i) {
    const Candidate& one = *report.result.front[i];
    std::snprintf(row, sizeof row, " %c %20s %20s %8s   ", letter(i),
                  value_text(plan.minimize, one.metric(plan.minimize)).c_str(),
                  value_text(kFrontMetric, one.metric(kFrontMetric)).c_str(), verdict_text(one));
    page.sentence(row + values_of(one.changes), "        ");
  }
  add_chart(page, report);
}

void add_commands(Page& page, const PlanReport& report) {
  page.line();
  page.line("Commands that repeat the rows:");
  for (std::size_t i = 0; i < report.result.front.size(); ++i) {
    page.line(std::string(" ") + letter(i) + "  " + candidate_command(*report.plan, *report.result.front[i]));
  }
}

// Returns "at most 500 ms", "at least 80 %" or "from 1 s to 2 s".
std::string target_text(const Target& target) {
  const auto text = [&](double value) { return metric_text(target.metric, value); };
  if (!std::isfinite(target.min)) return "at most " + text(target.max);
  if (!std::isfinite(target.max)) return "at least " + text(target.min);
  return "from " + text(target.min) + " to " + text(target.max);
}

void add_targets(Page& page, const PlanReport& report, const Candidate& candidate) {
  for (const Target& target : report.plan->meet) {
    page.line("  " + metric_title(target.metric) + " " +
              value_text(target.metric, candidate.metric(target.metric)) +
              ", wanted: " + target_text(target));
  }
  const MeanInterval load = candidate.metric("offered_load");
  if (candidate.reason == "unstable" && load.mean > 1)
    page.line("  " + metric_title("offered_load") + " " + value_text("offered_load", load) +
              ", wanted: less than 100 %");
  for (const std::string_view metric : kUnserved) {
    const double turns = candidate.metric(std::string(metric)).mean;
    if (turns > 0) page.line("  " + std::string(metric) + " " + format_number(turns) + " turns a run");
  }
}

// Adds how many of the better configurations were ruled out by the results of others, and how many of these
// verdicts were verified by runs.
void add_implied(Page& page, const Implied& implied) {
  const int64_t all = implied.verified + implied.same + implied.not_looked_at;
  if (all == 0) return;
  page.sentence(fmt::format(
      "{} would be better than the answer and {} ruled out because larger ones miss the targets. "
      "To check this, {} of them ran, and {} met the targets; {} lie between two of equal figures, "
      "and {} did not run.",
      format_count(all, "configuration"), all == 1 ? "was" : "were", format_count(implied.verified),
      format_count(implied.wrong), format_count(implied.same), format_count(implied.not_looked_at)));
}

// Adds a line for each listed value of the search space that the answer does not use, with the reason.
void add_discarded(Page& page, const PlanReport& report) {
  if (report.result.discarded.empty()) return;
  page.line();
  page.line("Left out, each with the setting that comes nearest:");
  for (const Discarded& one : report.result.discarded) {
    std::string text = "  " + one.value + ": ";
    const std::string cost =
        metric_title(report.plan->minimize) + " " + metric_text(report.plan->minimize, one.objective);
    switch (one.why) {
      case Discarded::Why::dearer:
        text += (one.is_estimate ? "at least " : "meets the targets at ") + cost;
        break;
      case Discarded::Why::unclear:
      case Discarded::Why::misses:
        if (one.reason == "unstable" || one.reason == "stable") {
          text += one.reason == "unstable" ? "saturated" : "may be saturated";
        } else {
          text += one.why == Discarded::Why::misses ? "misses " : "may miss ";
          text += metric_title(one.reason) + " (" + metric_text(one.reason, one.found) + ")";
        }
        text += std::string(one.is_estimate ? ", on a short workload," : "") + " at " + cost;
        break;
      case Discarded::Why::cannot_run:
        text += "cannot run: " + one.reason;
        break;
    }
    page.sentence(text, "    ");
  }
}

void add_answer(Page& page, const PlanReport& report) {
  const Plan& plan = *report.plan;
  const Candidate* shown = report.result.best ? report.result.best : report.result.nearest;
  if (shown) {
    add_targets(page, report, *shown);
    page.line("  " + candidate_command(plan, *shown));
  }
  if (report.result.best)
    for (const std::string& one : report.purchase_notes) page.sentence(one);
  if (report.result.rivals.empty()) return;
  page.sentence(fmt::format("Not clear after {} seeds:", plan.max_replications));
  for (const Candidate* rival : report.result.rivals) {
    page.sentence(
        fmt::format("  {} at {} {}", values_of(rival->changes),
                    value_text(plan.minimize, rival->metric(plan.minimize)),
                    rival->verdict == Judgement::unclear ? failure_text(*rival) : "cannot be told apart"),
        "    ");
  }
}

}  // namespace

std::string candidate_command(const Plan& plan, const Candidate& candidate) {
  Changes changes = candidate.changes;
  const Scenario scenario = load_scenario(plan.base, candidate.changes);
  if (scenario.workload.arrivals.process != ArrivalProcess::trace) {
    changes.emplace_back("workload.run_length=steady");
  }
  if (candidate.first_share > 1) {
    changes.push_back("workload.sessions=" + std::to_string(candidate.runs.front().session_count));
  }
  changes.emplace_back("workload.warmup=steady");
  changes.push_back("replications=" + std::to_string(std::max<std::size_t>(1, candidate.runs.size())));
  return run_command(plan, changes);
}

std::string plan_text(const PlanReport& report, const std::vector<std::string>& said) {
  Page page;
  const PlanResult& result = report.result;
  page.sentence(fmt::format(
      "{}: {} configurations, {} simulations, {} judged on the whole workload; {} combinations dropped on "
      "short "
      "ones, {} cannot run{}",
      report.plan->name, format_count(result.configurations), format_count(report.simulations),
      format_count(std::ssize(result.judged)), format_count(result.dropped), format_count(result.cannot_run),
      result.cannot_run > 0 ? " (the first: " + result.cannot_run_reason + ")" : ""));
  page.line();
  for (const std::string& one : said) page.sentence(one);
  add_answer(page, report);
  add_implied(page, result.implied);
  if (!report.searched.empty()) page.sentence(report.searched);
  page.sentence(fmt::format("The verdicts use {} intervals.", format_percent(result.confidence)));
  add_front(page, report);
  if (result.best) add_advice(page, report);
  add_discarded(page, report);
  if (!result.front.empty()) add_commands(page, report);
  return page.take();
}

}  // namespace kvcap
