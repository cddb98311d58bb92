// Compares the documents of a report before and after, figure by figure.
#pragma once

#include <string>
#include <vector>

#include "documents/change.h"
#include "documents/document.h"

namespace kvcap {

// Returns the changes. Results are matched by scenario and setting, other documents by the key of their kind.
std::vector<Change> changes(const std::vector<ReportDocument>& documents);

// Returns "3 more differences are not significant", for `more` "more ".
std::string not_significant_text(std::size_t count, const char* more);

// Returns paragraphs; none without documents before.
std::vector<std::string> change_sentences(const std::vector<ReportDocument>& documents);

}  // namespace kvcap
