// DocumentKind: how a report reads and shows the documents of one schema. Each kind is defined in a file of
// this folder and listed in kDocumentKinds.
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
#include "documents/document.h"
#include "text/csv_rows.h"
#include "text/markdown_page.h"

namespace kvcap {

// A key that a document must have, and the type of its value.
struct DocumentPart {
  const char* key;
  Json::value_t kind;
};

// Functions that a kind does not need are null.
struct DocumentKind {
  std::string_view schema;
  std::string_view page;  // page of the report that shows the document's sentences
  std::span<const DocumentPart> parts;
  bool is_file = true;  // false: kvcap report builds the document from another file
  // If a document contains a list of documents: the key of the list, and the kind of its documents.
  struct Items {
    const char* list;
    const DocumentKind* kind;
  };
  std::optional<Items> items = std::nullopt;
  void (*add_csv)(const ReportDocument& document, CsvRows& rows) = nullptr;
  // Adds the view of one document. Null for results, which are shown side by side (documents/results.h).
  void (*add_markdown)(const ReportDocument& document, MarkdownPage& page) = nullptr;
  std::vector<std::string> (*sentences)(const Json& content) = nullptr;
  // For comparisons of before and after. A document is compared with the one that has the same key;
  // add_changes() adds the changed numbers, add_change_sentences() the sentences about them.
  std::string (*key)(const Json& content) = nullptr;
  void (*add_changes)(const ReportDocument& then, const ReportDocument& now,
                      std::vector<Change>& changes) = nullptr;
  void (*add_change_sentences)(const ReportDocument& then, const ReportDocument& now,
                               std::vector<std::string>& sentences) = nullptr;
};

extern const DocumentKind kResultDocument, kCompareDocument, kRestoreDocument, kSweepRowsDocument,
    kPlanDocument, kBreakEvenDocument, kCapacityDocument, kValidationDocument, kTraceDocument;

// All kinds, results first.
inline constexpr std::array kDocumentKinds = {&kResultDocument,    &kCompareDocument,    &kRestoreDocument,
                                              &kSweepRowsDocument, &kPlanDocument,       &kBreakEvenDocument,
                                              &kCapacityDocument,  &kValidationDocument, &kTraceDocument};
// Returns null for an unknown schema.
const DocumentKind* find_document_kind(std::string_view schema);

// Returns the sentences about one document, its verdict first. The terminal, Markdown, the page and
// comparisons of before and after all use them.
std::vector<std::string> document_sentences(const Json& document);

}  // namespace kvcap
