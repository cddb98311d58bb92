// Before and after: what both sides of a report have, figure by figure.
#pragma once

#include <string>
#include <vector>

#include "documents/change.h"
#include "documents/document.h"

namespace kvcap {

// Results are matched by scenario and setting, other documents by the key of their kind.
std::vector<Change> changes(const std::vector<ReportDocument>& documents);

// Paragraphs; none without a side before.
std::vector<std::string> change_sentences(const std::vector<ReportDocument>& documents);

}  // namespace kvcap
