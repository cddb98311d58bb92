// The page of kvcap serve, which the build creates from report/src/serve and embeds in the program.
#pragma once

#include <string_view>

namespace kvcap {

struct ServePage {
  std::string_view html, script, style;  // empty: not built; embedded_report_page() has the reason
};

// Defined in a source file that the build generates (report/page.cmake).
ServePage embedded_serve_page();

}  // namespace kvcap
