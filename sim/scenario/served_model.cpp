#include "scenario/served_model.h"

#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

#include "scenario/load.h"

namespace kvcap {
namespace {

std::string lower_name(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

// Without its organisation and what its tuning is called.
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

// ORGANISATION/NAME of a model file whose source is "config.json of ORGANISATION/NAME on Hugging Face".
std::string source_name(const CatalogueEntry& entry) {
  constexpr std::string_view kBefore = "config.json of ";
  const nlohmann::json model = nlohmann::json::parse(entry.text, nullptr, false);
  if (!model.is_object() || !model.contains("source") || !model["source"].is_string()) return "";
  const auto source = model["source"].get<std::string>();
  const std::size_t found = source.find(kBefore);
  if (found == std::string::npos) return "";
  const std::size_t begin = found + kBefore.size();
  return source.substr(begin, source.find(' ', begin) - begin);
}

}  // namespace

std::string catalogue_model(const std::string& served_name) {
  const std::string wanted = base_name(served_name);
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    if (entry.name == lower_name(served_name) || entry.name == wanted) return std::string(entry.name);
  }
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    if (!wanted.empty() && base_name(source_name(entry)) == wanted) return std::string(entry.name);
  }
  return "";
}

}  // namespace kvcap
