#include "launch/manifest/manifest.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/input_error.h"
#include "launch/manifest/parts.h"
#include "launch/values.h"

namespace kvcap {
namespace {

constexpr int kDeepestList = 5;             // lists within lists are limited because aliases may form cycles
constexpr std::size_t kMostObjects = 1000;  // objects are limited because aliases may repeat them many times

// Adds the object, or the objects of a list, to `all`.
void collect(const ManifestItem& object, int depth, std::vector<ManifestItem>& all) {
  if (!object.exists()) return;
  if (!object.is_map()) object.refuse("a value that is not a map", "Kubernetes objects or Helm values");
  if (!object["kind"].text().ends_with("List")) {
    if (all.size() == kMostObjects) object.refuse("more than 1,000 objects", "a manifest");
    all.push_back(object);
    return;
  }
  if (depth > kDeepestList) object.refuse("lists within lists", "one list of objects");
  for (const ManifestItem& one : object["items"].elements()) collect(one, depth + 1, all);
}

ConfigMaps config_maps(const std::vector<ManifestItem>& objects, Manifest& manifest) {
  ConfigMaps maps;
  for (const ManifestItem& object : objects) {
    if (object["kind"].text() != "ConfigMap") continue;
    auto& map = maps[object["metadata"]["name"].text()];
    for (const auto& [key, value] : object["data"].members()) {
      manifest.files[key] = map[key] = value.text(true);
    }
  }
  return maps;
}

Manifest read_documents(const std::vector<YAML::Node>& documents, const std::string& file) {
  std::vector<ManifestItem> objects;
  for (const YAML::Node& one : documents) collect(ManifestItem(one, file), 0, objects);
  Manifest manifest;
  const ConfigMaps maps = config_maps(objects, manifest);
  for (const ManifestItem& one : objects) {
    const std::string kind = one["kind"].text();
    const bool is_known = kind.empty()
                              ? add_production_stack(one, manifest) || add_modelservice(one, manifest)
                              : add_dynamo(one, maps, manifest) || add_kubernetes(one, maps, manifest);
    if (!is_known) manifest.others.push_back(kind.empty() ? "values of another chart" : kind);
  }
  return manifest;
}

}  // namespace

Manifest parse_manifest(std::string_view text, const std::string& file) {
  try {
    return read_documents(YAML::LoadAll(std::string(text)), file);
  } catch (const YAML::Exception& error) {
    const std::string place = file + ":" + std::to_string(std::max(0, error.mark.line) + 1);
    if (has_placeholder(text)) {
      throw InputError("--from: " + place +
                       ": found a template with placeholders {{ }}, allowed: a manifest, as helm template "
                       "writes it, or the values of a chart");
    }
    throw InputError("--from: " + place + ": not valid YAML: " + error.msg);
  }
}

}  // namespace kvcap
