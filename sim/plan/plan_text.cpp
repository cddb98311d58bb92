#include "plan/plan_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "metrics/format.h"
#include "metrics/unserved.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

constexpr std::size_t kColumns = 100;

class Page {
 public:
  void line(const std::string& text = "") { text_ += text + '\n'; }
  void sentence(const std::string& text, std::string_view indent = "") {
    for (const std::string& one : wrap(text, kColumns, indent)) line(one);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string interval_text(const MeanInterval& value) {
  // What is the same in every run needs no interval.
  const bool same = std::abs(value.half_width) <= 1e-9 * std::abs(value.mean);
  return format_interval(value.mean, same ? std::numeric_limits<double>::quiet_NaN() : value.half_width);
}

std::string values_of(const Candidate& candidate) {
  std::string text;
  for (const std::string& change : candidate.changes) {
    // "hardware.ssd.count=2" as "ssd.count=2": the last two names tell which.
    std::string path = change.substr(0, change.find('='));
    const std::string value = change.substr(change.find('='));
    const std::size_t last = path.rfind('.');
    const std::size_t before = last == std::string::npos || last == 0 ? last : path.rfind('.', last - 1);
    if (before != std::string::npos) path = path.substr(before + 1);
    if (!text.empty()) text += ' ';
    text += path + value;
  }
  return text;
}

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

// Rows of the front as letters: the objective to the right, the logarithm of kFrontMetric upwards.
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
  page.sentence("Pareto front of what has been judged, " + plan.minimize + " against " + kFrontMetric +
                " (only stable configurations):");
  page.line();
  char row[160];
  std::snprintf(row, sizeof row, "   %20s %20s %8s",
                plan.minimize.substr(plan.minimize.find('.') + 1).c_str(), kFrontMetric, "meets");
  page.line(row);
  for (std::size_t i = 0; i < report.result.front.size(); ++i) {
    const Candidate& one = *report.result.front[i];
    std::snprintf(row, sizeof row, " %c %20s %20s %8s   ", letter(i),
                  interval_text(one.metric(plan.minimize)).c_str(),
                  interval_text(one.metric(kFrontMetric)).c_str(), verdict_text(one));
    page.sentence(row + values_of(one), "        ");
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

// "at most 500", "at least 0.8", "from 1 to 2"
std::string target_text(const Target& target) {
  if (!std::isfinite(target.min)) return "at most " + format_number(target.max);
  if (!std::isfinite(target.max)) return "at least " + format_number(target.min);
  return "from " + format_number(target.min) + " to " + format_number(target.max);
}

void add_targets(Page& page, const PlanReport& report, const Candidate& candidate) {
  for (const Target& target : report.plan->meet) {
    page.line("  " + target.metric + " " + interval_text(candidate.metric(target.metric)) +
              ", wanted: " + target_text(target));
  }
  for (const std::string_view metric : kUnserved) {
    const double turns = candidate.metric(std::string(metric)).mean;
    if (turns > 0) page.line("  " + std::string(metric) + " " + format_number(turns) + " turns a run");
  }
}

void add_binding(Page& page, const PlanReport& report) {
  const Plan& plan = *report.plan;
  const Candidate& best = *report.result.best;
  page.line();
  const Target* binding = binding_target(plan, best);
  if (binding) {
    page.sentence("Binding: " + binding->metric + " has the least room, " +
                  format_percent(slack(*binding, best.metric(binding->metric).mean)) + " of its bound.");
  }
  if (!report.result.next_better) {
    page.sentence("Nothing cheaper had to be judged on the whole workload.");
    return;
  }
  const Candidate& cheaper = *report.result.next_better;
  std::string why = "misses " + cheaper.reason;
  if (cheaper.verdict == Judgement::unclear) why = "may meet " + cheaper.reason + " or not";
  if (cheaper.reason == "unstable") {
    why = "is saturated";
  } else if (cheaper.reason == "stable") {
    why = "may be saturated or not";
  } else if (!cheaper.reason.empty()) {
    why += " (" + interval_text(cheaper.metric(cheaper.reason)) + ")";
  }
  page.sentence("The next cheaper one that was judged, " + values_of(cheaper) + " at " +
                interval_text(cheaper.metric(plan.minimize)) + ", " + why + ".");
}

std::string signed_text(const MeanInterval& change) {
  return (change.mean > 0 ? "+" : "") + interval_text(change);
}

std::string signed_number(double value) { return (value > 0 ? "+" : "") + format_number(value); }

void add_marginals(Page& page, const PlanReport& report) {
  if (report.marginals.empty()) return;
  page.line();
  page.line("A little more of each resource:");
  for (const Marginal& one : report.marginals) {
    std::string text = "  " + one.what + ": " + kFrontMetric + " " + signed_text(one.quality) + " for " +
                       report.plan->minimize + " " + signed_text(one.objective);
    if (one.unit != ResourceUnit::none) {
      text += "; per " + std::string(name(one.unit)) + ": " + signed_number(one.quality.mean / one.units) +
              " for " + signed_number(one.objective.mean / one.units);
    }
    if (!one.has_price) text += " (a link, not for sale by itself)";
    if (one.candidate->verdict == Judgement::misses) text += "; then misses " + one.candidate->reason;
    page.sentence(text, "    ");
  }
  const Marginal& first = report.marginals.front();
  if (!first.has_price) return;
  if (first.quality.mean + (std::isnan(first.quality.half_width) ? 0 : first.quality.half_width) >= 0) {
    page.sentence(std::string("None of them clearly lowers ") + kFrontMetric + ".");
  } else if (first.objective.mean > 0 && report.plan->minimize == "cost.usd_per_hour") {
    page.sentence("One more dollar an hour buys most as " + first.what.substr(0, first.what.find(' ')) +
                  ": " + format_number(-first.quality.mean / first.objective.mean) + " ms of p99 TTFT.");
  } else {
    page.sentence("Most is gained by " + first.what.substr(0, first.what.find(' ')) + ".");
  }
}

void add_robustness(Page& page, const PlanReport& report) {
  page.line();
  page.line("How far the answer holds:");
  for (const Stress& one : report.stresses) {
    std::string text = "  " + one.what + ": ";
    switch (one.candidate->verdict) {
      case Judgement::meets:
        text += "holds";
        break;
      case Judgement::unclear:
        text += "may miss " + one.candidate->reason;
        break;
      case Judgement::misses:
        text += "misses " + one.candidate->reason;
        break;
      case Judgement::cannot_run:
        text += "cannot run: " + one.candidate->reason;
        break;
    }
    const std::string& reason = one.candidate->reason;
    const std::string front = interval_text(one.candidate->metric(kFrontMetric));
    if (reason == kFrontMetric) {
      page.sentence(text + ": " + front, "    ");
      continue;
    }
    if (!reason.empty() && reason != "unstable" && reason != "stable") {
      text += " (" + interval_text(one.candidate->metric(reason)) + ")";
    }
    page.sentence(text + ", " + kFrontMetric + " " + front, "    ");
  }
  for (const PriceChange& one : report.prices) {
    std::string text = "  " + one.what + ": " + format_number(one.objective);
    text += one.best == report.result.best ? ", still the best of what was judged"
                                           : "; then better: " + values_of(*one.best);
    page.sentence(text, "    ");
  }
}

const char* doing(const std::string& part) {
  if (part == "queue") return "queueing";
  if (part == "lookup") return "looking up";
  if (part == "load") return "loading";
  if (part == "restore_compute") return "projecting or recomputing";
  if (part == "prefill") return "prefilling";
  return "waiting for others in the same steps (batching)";
}

// "GPU -1.20, DRAM +0.100": what makes a noticeable part of the largest, largest first.
std::string differences_text(std::vector<PartDifference> parts, bool is_time) {
  std::stable_sort(parts.begin(), parts.end(), [](const PartDifference& a, const PartDifference& b) {
    return std::abs(a.difference.mean) > std::abs(b.difference.mean);
  });
  constexpr double kNoticeable = 0.01;
  std::string text;
  for (const PartDifference& one : parts) {
    const double value = one.difference.mean;
    if (!(std::abs(value) > kNoticeable * std::abs(parts.front().difference.mean))) continue;
    if (!text.empty()) text += ", ";
    text += is_time ? interval_text({std::abs(value), one.difference.half_width}) +
                          (value < 0 ? " less " : " more ") + doing(one.name)
                    : one.name + " " + signed_number(value);
  }
  return text;
}

std::string bottleneck_text(const Candidate& candidate) {
  std::string text;
  for (const BottleneckShare& one : bottleneck(candidate)) {
    if (one.share < 0.005) continue;
    text += (text.empty() ? "" : ", ") + one.resource + " " + format_percent(one.share);
  }
  return text;
}

void add_why(Page& page, const PlanReport& report) {
  const Why& why = report.why;
  page.line();
  page.sentence("Bottleneck, by share of the time: " + bottleneck_text(*report.result.best) + ".");
  if (!why.runner_up) return;
  std::string text = "Against the runner-up, " + values_of(*why.runner_up) + ": " + report.plan->minimize +
                     " " + signed_text(why.objective);
  if (const std::string costs = differences_text(why.costs, false); !costs.empty())
    text += " (" + costs + ")";
  text += "; mean TTFT " + signed_text(why.ttft_ms) + " ms";
  if (const std::string parts = differences_text(why.ttft_parts_ms, true); !parts.empty())
    text += ": " + parts;
  page.sentence(text + ". Its bottleneck: " + bottleneck_text(*why.runner_up) + ".");
}

void add_flips(Page& page, const PlanReport& report) {
  if (report.flips.empty()) return;
  page.line();
  page.line("Where the answer flips, the nearest first (one seed a step):");
  for (const Flip& one : report.flips) {
    const std::string times = one.what + " x " + format_number(one.factor);
    if (!one.is_found) {
      page.sentence("  " + times + ": the answer still holds", "    ");
      continue;
    }
    std::string text = "  " + times;
    if (one.holds != one.factor) text += " (holds at x " + format_number(one.holds) + ")";
    if (!one.better.empty()) {
      text += ": cheaper is " + values_of({.changes = one.better});
    } else if (one.reason == "unstable" || one.reason == "stable") {
      text += one.reason == "unstable" ? ": the answer is saturated" : ": the answer may be saturated";
    } else {
      text += ": the answer misses " + one.reason;
    }
    page.sentence(text, "    ");
  }
}

// What ranges ruled out unseen, and what of that has been verified.
void add_implied(Page& page, const Implied& implied) {
  if (implied.verified + implied.same + implied.not_looked_at == 0) return;
  page.sentence(
      "Better ones that were ruled out because more missed as well: " + format_count(implied.verified) +
      " were run themselves, of which " + format_count(implied.wrong) + " met the targets; " +
      format_count(implied.same) + " lie between two with the same figures, and " +
      format_count(implied.not_looked_at) + " were not looked at.");
}

// Of each value of a list that the answer does not have, why.
void add_discarded(Page& page, const PlanReport& report) {
  if (report.result.discarded.empty()) return;
  page.line();
  page.line("Left out, each with the setting that comes nearest:");
  for (const Discarded& one : report.result.discarded) {
    std::string text = "  " + one.value + ": ";
    const std::string cost = report.plan->minimize + " " + format_number(one.objective);
    switch (one.why) {
      case Discarded::Why::dearer:
        text += (one.is_estimate ? "at least " : "meets the targets at ") + cost;
        break;
      case Discarded::Why::unclear:
      case Discarded::Why::misses:
        if (one.reason == "unstable" || one.reason == "stable") {
          text += one.reason == "unstable" ? "saturated" : "may be saturated or not";
        } else {
          text += one.why == Discarded::Why::misses ? "misses " : "may miss ";
          text += one.reason + " (" + format_number(one.found) + ")";
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
  const PlanResult& result = report.result;
  if (!result.best) {
    page.sentence("No configuration meets every target.");
    if (result.nearest) {
      page.sentence("Nearest: " + values_of(*result.nearest) +
                    (result.nearest->reason == "unstable" ? " (saturated)" : "") + ":");
      add_targets(page, report, *result.nearest);
      page.line("  " + candidate_command(plan, *result.nearest));
    }
  } else {
    page.sentence("Buy " + report.purchase + ": " + plan.minimize + " " +
                  interval_text(result.best->metric(plan.minimize)) + ".");
    add_targets(page, report, *result.best);
    page.line("  " + candidate_command(plan, *result.best));
    const std::string note = price_note(report);
    if (!note.empty()) page.sentence(note);
    for (const std::string& one : report.purchase_notes) page.sentence(one);
  }
  if (result.rivals.empty()) {
    if (!result.is_clear()) {
      page.sentence(
          "One seed, so chance is not excluded: a larger max_replications gives the targets intervals.");
    } else if (result.best) {
      page.sentence("Clear: every target is met beyond its interval over " +
                    std::to_string(result.best->runs.size()) +
                    " seeds, with an error of 5 % over all looks at it, and nothing judged is as cheap.");
    }
    return;
  }
  page.sentence("Not clear after " + std::to_string(plan.max_replications) + " seeds:");
  for (const Candidate* rival : result.rivals) {
    std::string text = "  " + values_of(*rival) + " at " + interval_text(rival->metric(plan.minimize));
    if (rival->verdict != Judgement::unclear) {
      text += " is not told apart";
    } else if (rival->reason == "stable") {
      text += " may be saturated or not";
    } else {
      text += " may meet " + rival->reason + " or not (" + interval_text(rival->metric(rival->reason)) + ")";
    }
    page.sentence(text, "    ");
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

std::string price_note(const PlanReport& report) {
  const Candidate* best = report.result.best;
  if (!best || !report.plan->minimize.starts_with("cost.") || best->metric("cost.gpu_usd").mean > 0)
    return "";
  return "Note: the profile of this machine has no price of its GPUs, so they cost nothing here: set "
         "hardware.gpu.price_usd_per_hour to compare it with others.";
}

std::string plan_text(const PlanReport& report) {
  Page page;
  const PlanResult& result = report.result;
  page.sentence(report.plan->name + ": " + format_count(result.configurations) + " configurations, " +
                format_count(report.simulations) + " simulations, " +
                format_count(static_cast<int64_t>(result.judged.size())) + " judged on the whole workload; " +
                format_count(result.dropped) + " combinations dropped on short ones, " +
                format_count(result.cannot_run) + " cannot run" +
                (result.cannot_run > 0 ? " (the first: " + result.cannot_run_reason + ")" : ""));
  page.line();
  add_answer(page, report);
  add_implied(page, result.implied);
  page.sentence("Intervals are those that the verdicts rest on: of " + format_percent(result.confidence) +
                ".");
  add_front(page, report);
  if (result.best) {
    add_binding(page, report);
    add_why(page, report);
    add_marginals(page, report);
    add_robustness(page, report);
    add_flips(page, report);
  }
  add_discarded(page, report);
  if (!result.front.empty()) add_commands(page, report);
  return page.take();
}

}  // namespace kvcap
