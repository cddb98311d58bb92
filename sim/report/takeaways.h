// What the documents of a report say, in sentences, page by page. Every name and figure is computed; where
// an interval includes zero the sentence says that it cannot tell.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/report_data.h"

namespace kvcap {

// Pages of the report with their sentences, in their order; none where a page has no data. Where several
// inputs speak on a page, each sentence begins with the name of its input. What lies before is spoken of on
// the page "changes" alone.
using Takeaways = std::vector<std::pair<std::string, std::vector<std::string>>>;
Takeaways takeaways(const std::vector<ReportDocument>& inputs);

}  // namespace kvcap
