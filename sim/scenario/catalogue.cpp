#include <array>

#include "base/embedded.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

std::vector<CatalogueEntry> entries_below(std::string_view folder) {
  std::vector<CatalogueEntry> entries;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(folder)) continue;
    std::string_view name = file.path.substr(folder.size());
    name.remove_suffix(std::string_view(".json").size());
    if (name.find('/') != std::string_view::npos) continue;  // of a folder below, which holds something else
    entries.push_back({name, file.text});
  }
  return entries;
}

}  // namespace

const std::vector<CatalogueEntry>& catalogue(Catalogue which) {
  static const std::array<std::vector<CatalogueEntry>, 3> catalogues = {
      entries_below("models/"), entries_below("hwprofiles/"), entries_below("traces/")};
  return catalogues[static_cast<std::size_t>(which)];
}

}  // namespace kvcap
