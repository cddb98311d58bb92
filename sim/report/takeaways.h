// Takeaways: sentences that summarise the documents of a report, page by page. Every name and number in them
// is computed from the documents. If the interval of a difference includes zero, the sentence says that it is
// not significant.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/report_data.h"

namespace kvcap {

// The pages of the report in order, each with its sentences; a page without data has none. If several inputs
// have sentences on a page, each sentence begins with the name of its input. "Before" documents appear only
// on the page "changes".
using Takeaways = std::vector<std::pair<std::string, std::vector<std::string>>>;
Takeaways takeaways(const std::vector<ReportDocument>& inputs);

// Returns a sentence with typographic signs in place of "+-", "<=", ">=" and "->", for the page and Markdown.
std::string typeset(std::string text);

}  // namespace kvcap
