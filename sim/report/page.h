// The page of report/ as the build has embedded it: one HTML file with everything inline.
#pragma once

#include <string_view>

namespace kvcap {

struct ReportPage {
  std::string_view html;     // empty: there is none
  std::string_view missing;  // then: why, and how to get it
};

// Defined in a source file that the build writes (report/page.cmake).
ReportPage embedded_report_page();

}  // namespace kvcap
