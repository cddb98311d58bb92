#include <algorithm>
#include <array>

#include "base/embedded.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

// Adds one entry per line of a file with one object per line. The first member of each object is its name.
void add_rows(std::string_view text, std::vector<CatalogueEntry>& entries) {
  constexpr std::string_view kName = "{\"name\": \"";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(kName)) continue;
    const std::string_view rest = line.substr(kName.size());
    entries.push_back({rest.substr(0, rest.find('"')), line});
  }
}

std::vector<CatalogueEntry> entries_below(std::string_view folder) {
  std::vector<CatalogueEntry> entries;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(folder)) continue;
    std::string_view name = file.path.substr(folder.size());
    if (name.find('/') != std::string_view::npos) continue;  // subfolders contain other files
    if (name.ends_with(".jsonl")) {
      add_rows(file.text, entries);
      continue;
    }
    name.remove_suffix(std::string_view(".json").size());
    entries.push_back({name, file.text});
  }
  std::sort(entries.begin(), entries.end(),
            [](const CatalogueEntry& a, const CatalogueEntry& b) { return a.name < b.name; });
  return entries;
}

}  // namespace

const std::vector<CatalogueEntry>& catalogue(Catalogue which) {
  static const std::array<std::vector<CatalogueEntry>, 3> catalogues = {
      entries_below("models/"), entries_below("hwprofiles/"), entries_below("traces/")};
  return catalogues[static_cast<std::size_t>(which)];
}

}  // namespace kvcap
