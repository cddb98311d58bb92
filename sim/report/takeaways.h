// Sentences that summarise the documents of a report, page by page. Every name and figure in them is
// computed; if an interval includes zero, the sentence marks the difference as undecided.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/report_data.h"

namespace kvcap {

// Pages of the report in their order, each with its sentences; none if a page has no data. If several inputs
// have sentences on a page, each sentence begins with the name of its input. Documents before appear only on
// "changes".
using Takeaways = std::vector<std::pair<std::string, std::vector<std::string>>>;
Takeaways takeaways(const std::vector<ReportDocument>& inputs);

// Returns a sentence with the signs that the page and Markdown have for "+-", "<=", ">=" and "->".
std::string typeset(std::string text);

}  // namespace kvcap
