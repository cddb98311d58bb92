// The pages of report/, embedded by the build: of kvcap report and kvcap whatif one HTML file each, of kvcap
// serve a page with a script and a style of its own.
#pragma once

#include <string_view>

namespace kvcap {

struct EmbeddedPage {
  std::string_view html;                     // empty: not built
  std::string_view missing;                  // if html is empty: the reason, and how to build the page
  std::string_view script = {}, style = {};  // files beside it
};

// Defined in a source file that the build generates (report/page.cmake).
EmbeddedPage embedded_report_page();
EmbeddedPage embedded_serve_page();
EmbeddedPage embedded_whatif_page();

}  // namespace kvcap
