#include "report/text_views.h"

#include <algorithm>

#include "base/float_values.h"
#include "base/text/format.h"
#include "documents/kind.h"
#include "documents/results.h"
#include "report/changes.h"
#include "report/takeaways.h"
#include "text/titles.h"

namespace kvcap {
namespace {

bool has_before(const Report& report) {
  return std::any_of(report.inputs.begin(), report.inputs.end(),
                     [](const ReportDocument& one) { return one.is_before; });
}

// Returns the names of the inputs of one side, each with its path.
std::string side_text(const Report& report, bool is_before) {
  std::vector<std::string> names;
  for (const ReportDocument& one : report.inputs)
    if (one.is_before == is_before) names.push_back(one.name + " (" + one.path + ")");
  return list_text(names);
}

// Returns "-11.2 +-5.4"; a difference of percentages names its unit, because it is not a percentage.
std::string difference_cell(const Change& change) {
  const std::string text =
      format_interval(change.difference(), change.half_width > 0 ? change.half_width : kNaN);
  return change.unit == "%" ? text + " " + difference_unit(change.unit) : text;
}

// Adds what has changed, then folds the table of significant changes: a pull request's comment shows the rest
// on request.
void add_changes(MarkdownPage& page, const Report& report) {
  page.list({"After: " + side_text(report, false), "Before: " + side_text(report, true)});
  std::vector<std::string> changed = change_sentences(report.inputs);
  for (std::string& one : changed) one = typeset(std::move(one));
  page.list(changed);
  std::vector<Cells> rows;
  std::size_t unclear = 0;
  for (const Change& change : changes(report.inputs)) {
    if (change.is_same()) continue;
    unclear += !change.can_tell();
    if (!change.can_tell()) continue;
    rows.push_back({change.place(), change.what, change.unit, format_number(change.before),
                    format_number(change.after), difference_cell(change)});
  }
  if (rows.empty() && unclear == 0) return;
  page.fold("Before and after");
  if (!rows.empty()) page.table({"setting", "figure", "unit", "before", "after", "difference"}, rows, 3);
  if (unclear > 0) page.list({not_significant_text(unclear, rows.empty() ? "" : "more ")});
  page.end_fold();
}

// Adds the warnings about how a document's launch line was read.
void add_warnings(const Json& content, MarkdownPage& page) {
  std::vector<std::string> texts;
  for (const Json& warning : list_of(content, "warnings")) texts.push_back(text_of(warning, "text"));
  if (texts.empty()) return;
  page.heading(3, "Notes");
  page.list(texts);
}

}  // namespace

std::string report_markdown(const Report& report) {
  MarkdownPage page;
  page.heading(1, report.title);
  const bool is_change = has_before(report);
  if (is_change) {
    add_changes(page, report);
    page.fold("Results after");
  }
  // Leaves out sentences that an earlier page already contains.
  std::vector<std::string> said;
  for (const auto& [name, sentences] : takeaways(report.inputs)) {
    if (name == "changes") continue;
    for (const std::string& sentence : sentences) {
      const auto repeats = [&](const std::string& one) { return one.find(sentence) != std::string::npos; };
      if (std::none_of(said.begin(), said.end(), repeats)) said.push_back(sentence);
    }
  }
  page.list(said);
  for (const ResultGroup& group : result_groups(report.inputs, false)) add_results(group, page);
  for (const ReportDocument& document : report.inputs) {
    const DocumentKind& kind = *find_document_kind(document.schema());
    if (document.is_before || !kind.add_markdown) continue;
    kind.add_markdown(document, page);
    add_warnings(document.content, page);
  }
  if (is_change) page.end_fold();
  return page.take();
}

std::string report_csv(const Report& report) {
  CsvRows rows;
  for (const ReportDocument& document : report.inputs) {
    const DocumentKind& kind = *find_document_kind(document.schema());
    if (kind.add_csv) kind.add_csv(document, rows);
  }
  return rows.take();
}

}  // namespace kvcap
