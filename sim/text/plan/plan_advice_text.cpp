#include "text/plan/plan_advice_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text/format.h"
#include "scenario/load.h"
#include "text/comparison.h"
#include "text/titles.h"

namespace kvcap {
namespace {

void add_next_cheaper(Page& page, const PlanReport& report) {
  const Plan& plan = *report.plan;
  page.line();
  if (!report.result.next_better) {
    page.sentence("Nothing cheaper had to be judged on the whole workload.");
    return;
  }
  const Candidate& cheaper = *report.result.next_better;
  page.sentence(fmt::format("The next cheaper configuration that was judged, {} at {}, {}.",
                            values_of(cheaper.changes),
                            value_text(plan.minimize, cheaper.metric(plan.minimize)), failure_text(cheaper)));
}

void add_marginals(Page& page, const PlanReport& report) {
  if (report.advice.marginals.empty()) return;
  page.line();
  page.line("A little more of each resource:");
  const std::string& minimize = report.plan->minimize;
  for (const Marginal& one : report.advice.marginals) {
    std::string text = "  " + step_text(one.what) + ": " + metric_title(kFrontMetric) + " " +
                       change_text(kFrontMetric, one.quality) + " for " + metric_title(minimize) + " " +
                       change_text(minimize, one.objective);
    if (one.unit != ResourceUnit::none) {
      text += "; per " + std::string(name(one.unit)) + ": " + signed_number(one.quality.mean / one.units) +
              " for " + signed_number(one.objective.mean / one.units);
    }
    if (!one.has_price) text += " (a link, not for sale by itself)";
    if (one.candidate->verdict == Judgement::misses) text += "; then it " + failure_text(*one.candidate);
    page.sentence(text, "    ");
  }
  const Marginal* next = next_to_buy(report.advice.marginals);
  if (!report.advice.marginals.front().has_price) return;
  if (!next) {
    page.sentence("No resource for sale clearly lowers " + metric_title(kFrontMetric) +
                  " without missing a target.");
  } else if (next->objective.mean > 0 && minimize == "cost.usd_per_hour") {
    page.sentence("One more dollar per hour is best spent on " +
                  field_title(next->what.substr(0, next->what.find(' '))) + ": " +
                  format_number(-next->quality.mean / next->objective.mean) + " ms of p99 TTFT.");
  } else {
    page.sentence("The largest gain comes from " + field_title(next->what.substr(0, next->what.find(' '))) +
                  ".");
  }
}

void add_robustness(Page& page, const PlanReport& report) {
  page.line();
  page.line("How far the answer holds:");
  for (const Stress& one : report.advice.stresses) {
    const Candidate& candidate = *one.candidate;
    std::string text = candidate.verdict == Judgement::meets ? "holds" : failure_text(candidate);
    // If kFrontMetric is the reason for the failure, the text already contains its value.
    if (candidate.verdict != Judgement::cannot_run && candidate.reason != kFrontMetric) {
      text +=
          ", " + metric_title(kFrontMetric) + " " + value_text(kFrontMetric, candidate.metric(kFrontMetric));
    }
    page.sentence("  " + one.what + ": " + text, "    ");
  }
  for (const PriceChange& one : report.advice.prices) {
    std::string text = "  " + one.what + ": " + metric_text(report.plan->minimize, one.objective);
    text += one.best == report.result.best ? ", still the best of what was judged"
                                           : "; then better: " + values_of(one.best->changes);
    page.sentence(text, "    ");
  }
}

// Returns "GPU -1.20, DRAM +0.100": the parts that are more than 1 % of the largest one, largest first.
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
                          (value < 0 ? " less " : " more ") + doing_in_part(one.name)
                    : one.name + " " + signed_number(value);
  }
  return text;
}

// Returns the name of the link between the GPUs. Results call this link `nvlink` even if it is PCIe.
std::string_view link_between_gpus(const Plan& plan, const Candidate& candidate) {
  const HardwareProfile hardware = load_scenario(plan.base, candidate.changes).hardware;
  return hardware.nvlink && !hardware.peer ? "nvlink" : kPcieBetweenGpus;
}

std::string busiest_text(const Plan& plan, const Candidate& candidate) {
  std::string text;
  for (const BottleneckShare& one : bottleneck(candidate)) {
    if (one.share < 0.005) continue;
    const std::string name(one.resource == "nvlink" ? link_between_gpus(plan, candidate) : one.resource);
    text += (text.empty() ? "" : ", ") + name + " " + format_percent(one.share);
  }
  return text;
}

void add_why(Page& page, const PlanReport& report) {
  const Why& why = report.advice.why;
  page.line();
  page.sentence(fmt::format("Busiest resource, by share of the time: {}.",
                            busiest_text(*report.plan, *report.result.best)));
  if (!why.runner_up) return;
  const std::string costs = differences_text(why.costs, false),
                    parts = differences_text(why.ttft_parts_ms, true);
  page.sentence(
      fmt::format("Against the runner-up, {}: {} {}{}; mean TTFT {} ms{}. Its busiest resource: {}.",
                  values_of(why.runner_up->changes), metric_title(report.plan->minimize),
                  change_text(report.plan->minimize, why.objective), costs.empty() ? "" : " (" + costs + ")",
                  signed_text(why.ttft_ms), parts.empty() ? "" : ": " + parts,
                  busiest_text(*report.plan, *why.runner_up)));
}

void add_flips(Page& page, const PlanReport& report) {
  if (report.advice.flips.empty()) return;
  page.line();
  page.line("Where the answer flips, the nearest first (one seed a step):");
  for (const Flip& one : report.advice.flips) {
    const std::string times = one.what + " x " + format_number(one.factor);
    if (!one.is_found) {
      page.sentence("  " + times + ": the answer still holds", "    ");
      continue;
    }
    std::string text = "  " + times;
    if (one.holds != one.factor) text += " (holds at x " + format_number(one.holds) + ")";
    if (!one.better.empty()) {
      text += ": cheaper is " + values_of(one.better);
    } else if (one.reason == "unstable" || one.reason == "stable") {
      text += one.reason == "unstable" ? ": the answer is saturated" : ": the answer may be saturated";
    } else {
      text += ": the answer misses " + metric_title(one.reason);
    }
    page.sentence(text, "    ");
  }
}

}  // namespace

void add_advice(Page& page, const PlanReport& report) {
  add_next_cheaper(page, report);
  add_why(page, report);
  add_marginals(page, report);
  add_robustness(page, report);
  add_flips(page, report);
}

}  // namespace kvcap
