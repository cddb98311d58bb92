#include "report/changes.h"

#include <algorithm>
#include <cmath>

#include "base/float_values.h"
#include "base/text/format.h"
#include "documents/kind.h"
#include "documents/results.h"
#include "text/result_sentences.h"

namespace kvcap {
namespace {

// Calls add(kind, then, now) for every "after" document for which there is a "before" document with the same
// key.
template <typename Add>
void each_pair(const std::vector<ReportDocument>& documents, Add add) {
  for (const DocumentKind* kind : kDocumentKinds) {
    if (!kind->key) continue;
    for (const ReportDocument& now : documents) {
      if (now.is_before || now.schema() != kind->schema) continue;
      const auto then = std::find_if(documents.begin(), documents.end(), [&](const ReportDocument& one) {
        return one.is_before && one.schema() == kind->schema &&
               kind->key(one.content) == kind->key(now.content);
      });
      if (then != documents.end()) add(*kind, *then, now);
    }
  }
}

std::string value_text(double value, const std::string& unit) {
  return format_number(value) + (unit.empty() ? "" : " " + unit);
}

// Returns "p99 TTFT 30.0 +-12.0 ms lower (150 against 180 ms before)".
std::string change_text(const Change& change) {
  const double width = change.half_width > 0 ? change.half_width : kNaN;
  return change.what + " " + difference_text(change.difference(), width, change.unit) + " (" +
         format_number(change.after) + " against " + value_text(change.before, change.unit) + " before)";
}

// Returns the first sentence of the "after" side, together with that of the "before" side if the two differ.
std::string verdict_text(const std::string& name, const std::vector<std::string>& then,
                         const std::vector<std::string>& now) {
  if (then.empty() || now.empty()) return "";
  if (then.front() == now.front()) return name + ", as before: " + now.front();
  return name + ": " + now.front() + " Before: " + then.front();
}

// Adds the verdicts of both sides on each scenario. If each side has a single group of results, the two
// groups are compared even if their scenarios differ.
void add_result_verdicts(const std::vector<ReportDocument>& documents, std::vector<std::string>& texts) {
  const std::vector<ResultGroup> before = result_groups(documents, true),
                                 after = result_groups(documents, false);
  const auto scenario_of = [](const ResultGroup& group) {
    return group.results.empty() ? "" : group.results.front().scenario_name;
  };
  for (const ResultGroup& now : after) {
    const auto then = std::find_if(before.begin(), before.end(), [&](const ResultGroup& one) {
      return scenario_of(one) == scenario_of(now) || (before.size() == 1 && after.size() == 1);
    });
    if (then == before.end()) continue;
    texts.push_back(verdict_text(now.name, sentences(comparison_of(*then)), sentences(comparison_of(now))));
  }
}

// Returns the significant changes of one setting and the number of other changes, or that nothing has
// changed.
std::string setting_text(const std::string& title, const std::vector<const Change*>& changes) {
  std::vector<std::string> clear;
  std::size_t unclear = 0;
  bool has_single_runs = false;
  for (const Change* change : changes) {
    if (change->is_same()) continue;
    if (change->can_tell()) clear.push_back(change_text(*change));
    unclear += !change->can_tell();
    has_single_runs = has_single_runs || std::isnan(change->half_width);
  }
  if (clear.empty() && unclear == 0) return title + ": as before.";
  std::string text = title + ": " + (clear.empty() ? "no clear change" : list_text(clear, 20));
  if (has_single_runs) text += "; one run each, so chance is not excluded";
  if (unclear > 0) text += "; " + not_significant_text(unclear, clear.empty() ? "" : "more ");
  return text + ".";
}

}  // namespace

std::string not_significant_text(std::size_t count, const char* more) {
  return std::to_string(count) + " " + more + (count == 1 ? "difference is" : "differences are") +
         " not significant";
}

std::vector<Change> changes(const std::vector<ReportDocument>& documents) {
  std::vector<Change> changes;
  add_result_changes(documents, headline_metrics(), changes);
  each_pair(documents, [&](const DocumentKind& kind, const ReportDocument& then, const ReportDocument& now) {
    if (kind.add_changes) kind.add_changes(then, now, changes);
  });
  return changes;
}

std::vector<std::string> change_sentences(const std::vector<ReportDocument>& documents) {
  std::vector<std::string> texts;
  if (std::none_of(documents.begin(), documents.end(),
                   [](const ReportDocument& one) { return one.is_before; }))
    return texts;
  add_result_verdicts(documents, texts);
  each_pair(documents, [&](const DocumentKind& kind, const ReportDocument& then, const ReportDocument& now) {
    if (kind.sentences)
      texts.push_back(verdict_text(now.name, kind.sentences(then.content), kind.sentences(now.content)));
  });
  std::erase(texts, "");
  const std::vector<Change> all = changes(documents);
  const auto is_check = [](const Change& change) { return change.metric == "error"; };
  for (std::size_t i = 0; i < all.size();) {
    std::vector<const Change*> one;
    const std::size_t first = i;
    for (; i < all.size() && all[i].input == all[first].input && all[i].setting == all[first].setting; ++i)
      one.push_back(&all[i]);
    if (!is_check(all[first])) texts.push_back(setting_text(all[first].place(), one));
  }
  each_pair(documents, [&](const DocumentKind& kind, const ReportDocument& then, const ReportDocument& now) {
    if (kind.add_change_sentences) kind.add_change_sentences(then, now, texts);
  });
  if (texts.empty()) texts.push_back("Both sides have nothing in common that could be compared.");
  return texts;
}

}  // namespace kvcap
