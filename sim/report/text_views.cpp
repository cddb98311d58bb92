#include "report/text_views.h"

#include <algorithm>

#include "base/float_values.h"
#include "base/text/format.h"
#include "documents/kind.h"
#include "documents/results.h"
#include "report/changes.h"
#include "report/takeaways.h"

namespace kvcap {
namespace {

void add_changes(MarkdownPage& page, const Report& report) {
  std::vector<Cells> rows;
  for (const Change& change : changes(report.inputs)) {
    if (change.is_same()) continue;
    rows.push_back({change.input + ", " + change.setting, change.what, change.unit,
                    format_number(change.before), format_number(change.after),
                    format_interval(change.difference(), change.half_width > 0 ? change.half_width : kNaN),
                    change.can_tell() ? "" : "not significant"});
  }
  if (rows.empty()) return;
  page.heading(2, "Before and after");
  page.table({"setting", "figure", "unit", "before", "after", "difference", ""}, rows, 3);
}

// Adds the warnings on how a document's launch line was read.
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
  // Skips sentences that an earlier page already contains.
  std::vector<std::string> said;
  for (const auto& [name, sentences] : takeaways(report.inputs)) {
    for (const std::string& sentence : sentences) {
      const auto repeats = [&](const std::string& one) { return one.find(sentence) != std::string::npos; };
      if (std::none_of(said.begin(), said.end(), repeats)) said.push_back(sentence);
    }
  }
  page.list(said);
  add_changes(page, report);
  for (const ResultGroup& group : result_groups(report.inputs, false)) add_results(group, page);
  for (const ReportDocument& document : report.inputs) {
    const DocumentKind& kind = *find_document_kind(document.schema());
    if (document.is_before || !kind.add_markdown) continue;
    kind.add_markdown(document, page);
    add_warnings(document.content, page);
  }
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
