// Gives access to the project's data files, which are embedded in the binary so that it runs from any folder.
#pragma once

#include <string_view>
#include <vector>

namespace kvcap {

struct EmbeddedFile {
  std::string_view path;  // relative to the project's root, e.g. "models/llama-2-7b.json"
  std::string_view text;
};

// Returns the files, sorted by path. Defined in a source file that the build generates
// (scenario/catalogue.cmake).
const std::vector<EmbeddedFile>& embedded_files();

}  // namespace kvcap
