// The page of kvcap whatif, which the build makes from report/src/whatif and this folder (as WebAssembly) and
// embeds as one file.
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
