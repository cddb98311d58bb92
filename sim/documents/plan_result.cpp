#include <cmath>
#include <limits>

#include "base/float_values.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "documents/items.h"
#include "documents/kind.h"

namespace kvcap {
namespace {

constexpr DocumentPart kPlanParts[] = {{"judged", Json::value_t::array}};

// Returns "12.3", with the half-width of its interval if known.
std::string estimate_text(const Json& candidate, const std::string& metric) {
  const Json& value = value_of(value_of(candidate, "metrics"), metric);
  const Json& interval = value_of(value, "interval");
  double half_width = std::numeric_limits<double>::quiet_NaN();
  if (interval.is_array() && interval.size() == 2) {
    half_width = (number_or_nan(interval[1]) - number_or_nan(interval[0])) / 2;
    if (half_width <= 1e-9 * std::abs(number_of(value, "mean")))
      half_width = std::numeric_limits<double>::quiet_NaN();
  }
  return format_interval(number_of(value, "mean"), half_width);
}

std::string changes_text(const Json& candidate) {
  return joined(texts_of(list_of(candidate, "changes")), " ");
}

std::vector<std::string> plan_sentences(const Json& plan) {
  std::vector<std::string> said;
  const std::string objective = text_of(plan, "minimize");
  const Json& answer = value_of(plan, "answer");
  const std::string simulations = text_of(plan, "simulations");
  const std::string effort = simulations.empty() ? "" : " (" + simulations + " simulations)";
  if (answer.is_null()) {
    const Json& nearest = value_of(plan, "nearest");
    said.push_back("No configuration meets every target" + effort + "." +
                   (nearest.is_null() ? ""
                                      : " Nearest is " + changes_text(nearest) + ", which misses " +
                                            text_of(nearest, "reason") + "."));
    return said;
  }
  const std::string purchase = text_of(plan, "purchase");
  said.push_back((purchase.empty() ? "The answer is " + changes_text(answer) : "Buy " + purchase) + ": " +
                 objective + " " + estimate_text(answer, objective) + ", p99 TTFT " +
                 estimate_text(answer, "p99_ttft_ms") + " ms" + effort + ".");
  if (const std::string note = text_of(plan, "note"); !note.empty()) said.push_back(note);
  const std::size_t rivals = list_of(plan, "rivals").size();
  if (rivals > 0)
    said.push_back("These runs do not distinguish it from " + format_count(static_cast<int64_t>(rivals)) +
                   (rivals == 1 ? " other configuration." : " other configurations."));
  const std::string binding = text_of(plan, "binding");
  if (!binding.empty()) said.push_back("The target with the least room is " + binding + ".");
  if (const Json& marginals = list_of(plan, "marginal"); !marginals.empty()) {
    const Json& first = marginals.front();
    const double change_ms = number_of(value_of(value_of(first, "change"), "p99_ttft_ms"), "mean");
    if (change_ms < 0)
      said.push_back("What to buy next: " + text_of(first, "what") + ", p99 TTFT " +
                     format_number(-change_ms) + " ms lower.");
  }
  return said;
}

void plan_markdown(const ReportDocument& document, MarkdownPage& page) {
  const std::string objective = text_of(document.content, "minimize");
  page.heading(2, document.name);
  std::vector<Cells> rows;
  for (const Json& candidate : list_of(document.content, "front")) {
    const Json& metrics = value_of(candidate, "metrics");
    rows.push_back({changes_text(candidate), text_of(candidate, "verdict"),
                    format_number(number_of(value_of(metrics, objective), "mean")),
                    format_number(number_of(value_of(metrics, "p99_ttft_ms"), "mean"))});
  }
  page.table({"configuration", "targets", objective, "p99_ttft_ms"}, rows, 2);
}

void plan_csv(const ReportDocument& document, CsvRows& rows) {
  for (const Json& candidate : list_of(document.content, "judged")) {
    const Json& metrics = value_of(candidate, "metrics");
    if (!metrics.is_object()) continue;
    for (const auto& [name, value] : metrics.items()) {
      const Json& interval = value_of(value, "interval");
      const bool has_interval = interval.is_array() && interval.size() == 2;
      rows.add(document.name, changes_text(candidate), name, number_of(value, "mean"),
               has_interval ? (number_or_nan(interval[1]) - number_or_nan(interval[0])) / 2 : kNaN);
    }
  }
}

void plan_changes(const ReportDocument& then, const ReportDocument& now, std::vector<Change>& changes) {
  const std::string objective = text_of(now.content, "minimize");
  const auto mean = [&](const ReportDocument& plan) {
    return number_of(value_of(value_of(value_of(plan.content, "answer"), "metrics"), objective), "mean");
  };
  if (std::isnan(mean(then)) || std::isnan(mean(now))) return;
  changes.push_back({now.name, "answer", objective, objective, "", mean(then), mean(now), kNaN});
}

void plan_change_sentences(const ReportDocument& then, const ReportDocument& now,
                           std::vector<std::string>& sentences) {
  const auto answer = [](const ReportDocument& plan) {
    const Json& found = value_of(plan.content, "answer");
    return found.is_null() ? "none" : changes_text(found);
  };
  const std::string was = answer(then), is = answer(now);
  sentences.push_back(now.name + ": the answer is " +
                      (was == is ? "the same: " + is : is + "; it was " + was) + ".");
}

}  // namespace

const DocumentKind kPlanDocument = {.schema = "kvcap.plan_result/1",
                                    .page = "plan",
                                    .parts = kPlanParts,
                                    .add_csv = plan_csv,
                                    .add_markdown = plan_markdown,
                                    .sentences = plan_sentences,
                                    .key = name_of,
                                    .add_changes = plan_changes,
                                    .add_change_sentences = plan_change_sentences};

}  // namespace kvcap
