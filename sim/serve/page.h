// The page of kvcap serve, embedded by the build: report/src/serve.
#pragma once

#include <string_view>

namespace kvcap {

struct ServePage {
  std::string_view html, script, style;  // empty: not built; embedded_report_page() says why
};

// Defined in a source file that the build generates (report/page.cmake).
ServePage embedded_serve_page();

}  // namespace kvcap
