// Functions of parse_manifest(), which are implemented in several files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/manifest/item.h"
#include "launch/manifest/manifest.h"

namespace kvcap {

// ConfigMaps of a manifest by name, and the texts of each by key.
using ConfigMaps = std::map<std::string, std::map<std::string, std::string>>;

// Settings of the object that contains a container: its name, counts and variables.
struct ContainerFrame {
  std::string name;
  PlacedCount instances = {}, nodes = {};
  ServerRole role = ServerRole::both;
  std::vector<ManifestItem> variables = {};                       // lists of {name, value}
  std::vector<std::pair<std::string, ManifestItem>> values = {};  // variables by name
  std::optional<ManifestItem> resources = {};                     // replaces the container's own
};

// Returns the engine that a container runs; nullopt if it runs none. `program`: if not empty, the words that
// replace the container's `command`.
std::optional<ManifestEngine> engine_of(const ManifestItem& container, const ContainerFrame& frame,
                                        const ConfigMaps& maps = {},
                                        const std::vector<LineWord>& program = {});

ServerRole role_of(const std::string& word);

// Add the engines of a Kubernetes or Dynamo object. Return false if the object has none.
bool add_kubernetes(const ManifestItem& object, const ConfigMaps& maps, Manifest& manifest);
bool add_dynamo(const ManifestItem& object, const ConfigMaps& maps, Manifest& manifest);
// Add the engines of Helm values. Return false for values of another chart.
bool add_production_stack(const ManifestItem& values, Manifest& manifest);
bool add_modelservice(const ManifestItem& values, Manifest& manifest);

}  // namespace kvcap
