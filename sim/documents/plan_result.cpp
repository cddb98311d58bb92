#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "base/float_values.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "documents/items.h"
#include "documents/kind.h"
#include "metrics/quantity.h"
#include "metrics/unserved.h"
#include "text/model_text.h"
#include "text/plan/plan_words.h"
#include "text/result_sentences.h"
#include "text/sentence.h"
#include "text/titles.h"

namespace kvcap {
namespace {

constexpr DocumentPart kPlanParts[] = {{"judged", Json::value_t::array}};

// Returns the half-width of the interval of {mean, interval}; NaN if unknown.
double half_width_of(const Json& value) {
  const Json& interval = value_of(value, "interval");
  const bool is_known = interval.is_array() && interval.size() == 2;
  return is_known ? (number_or_nan(interval[1]) - number_or_nan(interval[0])) / 2 : kNaN;
}

std::string estimate_text(const Json& candidate, const std::string& metric) {
  const Json& value = value_of(value_of(candidate, "metrics"), metric);
  return value_text(metric, {.mean = number_of(value, "mean"), .half_width = half_width_of(value)});
}

// Return a configuration as overrides of the command line (changes_text), and with titles for readers
// (setting_text).
std::string changes_text(const Json& candidate) {
  return joined(texts_of(list_of(candidate, "changes")), " ");
}
std::string setting_text(const Json& candidate) {
  std::vector<std::string> texts = texts_of(list_of(candidate, "changes"));
  for (std::string& one : texts) one = change_title(one);
  return joined(texts);
}

// ---- sentences ----

struct PlanSubject {
  const Json& json;

  const Json& answer() const { return value_of(json, "answer"); }
  std::size_t rivals() const { return list_of(json, "rivals").size(); }
  // Returns the share of plausible machines on which the answer meets every target; NaN if none were drawn.
  double meets_share() const {
    const Json& finalists = list_of(value_of(json, "model"), "finalists");
    return finalists.empty() ? kNaN : number_of(finalists.front(), "meets_share");
  }
  const Json& next_change() const {
    return value_of(value_of(value_of(json, "next"), "change"), "p99_ttft_ms");
  }
};
using PlanSentence = Sentence<PlanSubject>;

bool knows(const PlanSubject& s, std::string_view key) { return !value_of(s.json, key).is_null(); }
std::span<const PlaceOfText<PlanSubject>> places_of(const PlanSubject&);

bool has_no_answer(const PlanSubject& s) { return s.answer().is_null(); }

// If the answer meets the targets on a smaller share of the plausible machines, the text does not call it
// clear.
constexpr double kSurely = 0.95;

constexpr PlanSentence kPlanInterrupted[] = {
    {"Interrupted before the search ended; this is what was judged until then.",
     [](const PlanSubject& s) { return text_of(s.json, "interrupted") == "search"; }},
    {"Interrupted after the search: the answer is complete, the advice after it is not.",
     [](const PlanSubject& s) { return text_of(s.json, "interrupted") == "advice"; }},
};
bool is_search_interrupted(const PlanSubject& s) { return text_of(s.json, "interrupted") == "search"; }

constexpr PlanSentence kPlanVerdict[] = {
    {"None of them meets every target{effort}. Nearest is {nearest}.",
     [](const PlanSubject& s) { return has_no_answer(s) && is_search_interrupted(s); },
     {"nearest"}},
    {"No configuration meets every target{effort}. Nearest is {nearest}, which is saturated.",
     [](const PlanSubject& s) {
       return has_no_answer(s) && text_of(value_of(s.json, "nearest"), "reason") == "unstable";
     },
     {"nearest"}},
    {"No configuration meets every target{effort}. Nearest is {nearest}, which has {nearest lacks} turns.",
     [](const PlanSubject& s) {
       const std::string reason = text_of(value_of(s.json, "nearest"), "reason");
       return has_no_answer(s) && std::ranges::find(kUnserved, reason) != std::end(kUnserved);
     },
     {"nearest"}},
    {"No configuration meets every target{effort}. Nearest is {nearest}, which misses {nearest misses}.",
     has_no_answer,
     {"nearest"}},
    {"No configuration meets every target{effort}.", has_no_answer},
    {"Buy {purchase}: {objective} {answer objective}, p99 TTFT {answer p99}{effort}.", nullptr, {"purchase"}},
    {"The answer is {answer}: {objective} {answer objective}, p99 TTFT {answer p99}{effort}."},
};
constexpr PlanSentence kPlanCertainty[] = {
    {"These runs do not show whether {rivals} meet the targets.",
     [](const PlanSubject& s) { return has_no_answer(s) && s.rivals() > 0; }},
    {"These runs do not distinguish it from {rivals}.", [](const PlanSubject& s) { return s.rivals() > 0; }},
    {"One seed, so chance is not excluded.",
     [](const PlanSubject& s) { return value_of(s.json, "clear") == false && is_search_interrupted(s); },
     {"clear"}},
    {"One seed, so chance is not excluded: a larger max_replications gives the targets intervals.",
     [](const PlanSubject& s) { return value_of(s.json, "clear") == false; },
     {"clear"}},
    {"Over {seeds} every target is met beyond its interval, but the model is less sure: the answer meets "
     "them "
     "on {machines}.",
     [](const PlanSubject& s) { return s.meets_share() < kSurely; },
     {"clear"}},
    {"Over {seeds} every target is met beyond its interval.",
     [](const PlanSubject& s) { return !has_no_answer(s) && text_of(s.json, "interrupted") == "search"; },
     {"clear"}},
    {"It is clear: over {seeds} every target is met beyond its interval, with an error probability of 5 % "
     "over "
     "all looks, and nothing cheaper that was judged meets them.",
     [](const PlanSubject& s) { return !has_no_answer(s); },
     {"clear"}},
};
constexpr PlanSentence kPlanRest[] = {
    {"The target with the least room is {binding}.", nullptr, {"binding"}},
    {"What to buy next: {next}, p99 TTFT {next gain} lower.", nullptr, {"next"}},
};

const PlaceOfText<PlanSubject> kPlanPlaces[] = {
    {"effort",
     [](const PlanSubject& s) {
       const std::string simulations = text_of(s.json, "simulations");
       return simulations.empty() ? "" : " (" + simulations + " simulations)";
     }},
    {"nearest", [](const PlanSubject& s) { return setting_text(value_of(s.json, "nearest")); }},
    {"nearest misses",
     [](const PlanSubject& s) { return metric_title(text_of(value_of(s.json, "nearest"), "reason")); }},
    {"nearest lacks", [](const PlanSubject& s) { return text_of(value_of(s.json, "nearest"), "reason"); }},
    {"purchase", [](const PlanSubject& s) { return text_of(s.json, "purchase"); }},
    {"answer", [](const PlanSubject& s) { return setting_text(s.answer()); }},
    {"objective", [](const PlanSubject& s) { return metric_title(text_of(s.json, "minimize")); }},
    {"answer objective",
     [](const PlanSubject& s) { return estimate_text(s.answer(), text_of(s.json, "minimize")); }},
    {"answer p99", [](const PlanSubject& s) { return estimate_text(s.answer(), "p99_ttft_ms"); }},
    {"rivals",
     [](const PlanSubject& s) {
       return format_count(static_cast<int64_t>(s.rivals()),
                           has_no_answer(s) ? "configuration" : "other configuration");
     }},
    {"seeds",
     [](const PlanSubject& s) {
       return format_count(std::lround(number_of(s.answer(), "replications")), "seed");
     }},
    {"binding", [](const PlanSubject& s) { return metric_title(text_of(s.json, "binding")); }},
    {"machines",
     [](const PlanSubject& s) {
       return machines_text(s.meets_share(), std::lround(number_of(value_of(s.json, "model"), "draws")));
     }},
    {"next", [](const PlanSubject& s) { return step_text(text_of(value_of(s.json, "next"), "what")); }},
    {"next gain",
     [](const PlanSubject& s) {
       return value_text("p99_ttft_ms", {.mean = -number_of(s.next_change(), "mean"),
                                         .half_width = half_width_of(s.next_change())});
     }},
};
std::span<const PlaceOfText<PlanSubject>> places_of(const PlanSubject&) { return kPlanPlaces; }

std::vector<std::string> plan_sentences(const Json& plan) {
  const Json& answer = value_of(plan, "answer");
  std::vector<std::string> texts = {first_said(kPlanInterrupted, {plan}), first_said(kPlanVerdict, {plan}),
                                    quality_text(text_of(answer, "policy"), text_of(answer, "quality_note")),
                                    first_said(kPlanCertainty, {plan})};
  for (std::string& one : all_said(kPlanRest, {plan})) texts.push_back(std::move(one));
  std::erase(texts, "");
  return texts;
}

// ---- views ----

void plan_markdown(const ReportDocument& document, MarkdownPage& page) {
  const std::string objective = text_of(document.content, "minimize");
  page.heading(2, document.name);
  std::vector<Cells> rows;
  for (const Json& candidate : list_of(document.content, "front")) {
    const Json& metrics = value_of(candidate, "metrics");
    rows.push_back({changes_text(candidate), text_of(candidate, "verdict"),
                    number_in_unit(objective, number_of(value_of(metrics, objective), "mean")),
                    number_in_unit("p99_ttft_ms", number_of(value_of(metrics, "p99_ttft_ms"), "mean"))});
  }
  page.table({"configuration", "targets", column_title(objective), column_title("p99_ttft_ms")}, rows, 2);
}

void plan_csv(const ReportDocument& document, CsvRows& rows) {
  for (const Json& candidate : list_of(document.content, "judged")) {
    const Json& metrics = value_of(candidate, "metrics");
    if (!metrics.is_object()) continue;
    for (const auto& [name, value] : metrics.items()) {
      rows.add(document.name, changes_text(candidate), name, number_of(value, "mean"), half_width_of(value));
    }
  }
}

void plan_changes(const ReportDocument& then, const ReportDocument& now, std::vector<Change>& changes) {
  const std::string objective = text_of(now.content, "minimize");
  const auto mean = [&](const ReportDocument& plan) {
    return number_of(value_of(value_of(value_of(plan.content, "answer"), "metrics"), objective), "mean");
  };
  if (std::isnan(mean(then)) || std::isnan(mean(now))) return;
  const Quantity* row = find_quantity(objective);
  const Unit unit = row ? row->unit : Unit{""};
  changes.push_back({now.name, "answer", objective, metric_title(objective), std::string(unit.symbol),
                     unit.scale * mean(then), unit.scale * mean(now), kNaN});
}

}  // namespace

const DocumentKind kPlanDocument = {.schema = "kvcap.plan_result/1",
                                    .page = "plan",
                                    .parts = kPlanParts,
                                    .add_csv = plan_csv,
                                    .add_markdown = plan_markdown,
                                    .sentences = plan_sentences,
                                    .key = name_of,
                                    .add_changes = plan_changes};

}  // namespace kvcap
