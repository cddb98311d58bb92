// Compares the "before" and "after" documents of a report, number by number.
#pragma once

#include <string>
#include <vector>

#include "documents/change.h"
#include "documents/document.h"

namespace kvcap {

// Returns all changes. Results are matched by scenario and setting, other documents by the key of their kind.
std::vector<Change> changes(const std::vector<ReportDocument>& documents);

// Returns "3 more differences are not significant" if `more` is "more "; without that word if `more` is "".
std::string not_significant_text(std::size_t count, const char* more);

// Returns paragraphs about the changes; none if there are no "before" documents.
std::vector<std::string> change_sentences(const std::vector<ReportDocument>& documents);

}  // namespace kvcap
