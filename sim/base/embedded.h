// The project's data files that travel inside the binary, so that it runs from any folder.
#pragma once

#include <string_view>
#include <vector>

namespace kvcap {

struct EmbeddedFile {
  std::string_view path;  // relative to the project's root, e.g. "models/llama-2-7b.json"
  std::string_view text;
};

// In order of path. Defined in a source file that the build writes (scenario/catalogue.cmake).
const std::vector<EmbeddedFile>& embedded_files();

}  // namespace kvcap
