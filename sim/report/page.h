// The page of kvcap report: one HTML file with everything inline, which the build creates from the folder
// report/ and embeds in the program.
#pragma once

#include <string_view>

namespace kvcap {

struct ReportPage {
  std::string_view html;     // empty: not built
  std::string_view missing;  // if html is empty: the reason, and how to build the page
};

// Defined in a source file that the build generates (report/page.cmake).
ReportPage embedded_report_page();

}  // namespace kvcap
