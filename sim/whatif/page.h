// The page of kvcap whatif: one HTML file, which the build creates from report/src/whatif and from this
// folder (compiled to WebAssembly) and embeds in the program.
#pragma once

#include <string_view>

namespace kvcap {

struct WhatifPage {
  std::string_view html;     // empty: not built
  std::string_view missing;  // if html is empty: the reason, and how to build the page
};

// Defined in a source file that the build generates (report/page.cmake).
WhatifPage embedded_whatif_page();

}  // namespace kvcap
