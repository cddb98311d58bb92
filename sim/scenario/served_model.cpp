#include "scenario/served_model.h"

#include <cctype>
#include <sstream>
#include <string_view>

#include "scenario/load.h"
#include "scenario/model_files.h"

namespace kvcap {
namespace {

std::string lower_name(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

// Returns the name without its organisation and the suffix for its tuning.
std::string base_name(const std::string& served_name) {
  std::string name = lower_name(served_name.substr(served_name.rfind('/') + 1));
  if (name.starts_with("meta-")) name.erase(0, 5);
  for (const char* ending : {"-hf", "-v0.1", "-v0.2", "-v0.3", "-chat", "-instruct", "-it"}) {
    if (name.ends_with(ending)) name.resize(name.size() - std::string_view(ending).size());
  }
  for (const char* ending : {"-chat", "-instruct"}) {
    if (name.ends_with(ending)) name.resize(name.size() - std::string_view(ending).size());
  }
  return name;
}

}  // namespace

std::string catalogue_model(const std::string& served_name) {
  if (const auto known = known_model(served_name)) return std::string(*known);
  const std::string wanted = base_name(served_name);
  if (wanted.empty()) return "";
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    if (entry.name == wanted) return std::string(entry.name);
  }
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    std::istringstream names(hugging_face_names(entry));
    for (std::string name; names >> name;) {
      if (base_name(name) == wanted) return std::string(entry.name);
    }
  }
  return "";
}

}  // namespace kvcap
