// DocumentKind: how a report reads one schema of document and shows it, one file and one row each.
//
//   kvcap.result/1, kvcap.compare/1      kvcap run and compare
//   kvcap.restore/1                      kvcap restore --json
//   kvcap.plan_result/1                  kvcap plan --json
//   kvcap.break_even/1                   kvcap plan --break-even --json
//   kvcap.capacity/1                     kvcap capacity --json
//   kvcap.validation/1                   kvcap validate --json
//   kvcap.trace_stats/1                  kvcap trace stats --json
//   kvcap.sweep_rows/1                   made by report/read_inputs.h from the results.sqlite of kvcap sweep
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "documents/change.h"
#include "documents/csv_rows.h"
#include "documents/document.h"
#include "documents/markdown_page.h"

namespace kvcap {

// What a document must have for anything to be shown of it.
struct DocumentPart {
  const char* key;
  Json::value_t kind;
};

// Functions may be null.
struct DocumentKind {
  std::string_view schema;
  std::string_view page;  // of the report, on which its sentences stand
  std::span<const DocumentPart> parts;
  bool is_file = true;  // false: kvcap report makes it from another file
  // A list of documents in it, and their kind.
  struct Items {
    const char* list;
    const DocumentKind* kind;
  };
  std::optional<Items> items = std::nullopt;
  void (*add_csv)(const ReportDocument& document, CsvRows& rows) = nullptr;
  // Of one document. Results are shown beside each other instead (documents/results.h).
  void (*add_markdown)(const ReportDocument& document, MarkdownPage& page) = nullptr;
  std::vector<std::string> (*sentences)(const Json& content) = nullptr;
  // Before and after: documents of one key are compared, figure by figure and in sentences.
  std::string (*key)(const Json& content) = nullptr;
  void (*add_changes)(const ReportDocument& then, const ReportDocument& now,
                      std::vector<Change>& changes) = nullptr;
  void (*add_change_sentences)(const ReportDocument& then, const ReportDocument& now,
                               std::vector<std::string>& sentences) = nullptr;
};

extern const DocumentKind kResultDocument, kCompareDocument, kRestoreDocument, kSweepRowsDocument,
    kPlanDocument, kBreakEvenDocument, kCapacityDocument, kValidationDocument, kTraceDocument;

// Results first.
inline constexpr std::array kDocumentKinds = {&kResultDocument,    &kCompareDocument,    &kRestoreDocument,
                                              &kSweepRowsDocument, &kPlanDocument,       &kBreakEvenDocument,
                                              &kCapacityDocument,  &kValidationDocument, &kTraceDocument};
// Null for a schema that is none of these.
const DocumentKind* find_document_kind(std::string_view schema);

}  // namespace kvcap
