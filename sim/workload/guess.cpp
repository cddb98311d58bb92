#include <algorithm>
#include <array>

#include "workload/gz_file.h"
#include "workload/source.h"

namespace kvcap {

SourceKind guess_kind(const std::string& path) {
  std::string text(4096, ' ');
  GzFile file(path);
  text.resize(file.read(text));
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t start = text.find_first_not_of(kBlank);
  if (start == std::string::npos) return SourceKind::sessions;
  if (text[start] == '[') return SourceKind::sharegpt;
  const std::size_t quote = text.find_first_not_of(kBlank, start + 1);
  if (text[start] != '{' || quote == std::string::npos || text[quote] != '"') return SourceKind::sessions;
  const std::string key = text.substr(quote + 1, text.find('"', quote + 1) - quote - 1);
  constexpr std::array<std::string_view, 5> kLevalKeys = {"instructions", "outputs", "input", "source",
                                                          "evaluation"};
  const bool leval = std::find(kLevalKeys.begin(), kLevalKeys.end(), key) != kLevalKeys.end();
  return leval ? SourceKind::leval : SourceKind::sessions;
}

}  // namespace kvcap
