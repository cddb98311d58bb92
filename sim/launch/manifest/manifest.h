// Manifests: converts the engines in Kubernetes objects, Helm values and Dynamo graphs to words of launch
// lines.
//
//   Pod, Deployment, StatefulSet, LeaderWorkerSet, ...   image, command, args, env and GPUs of a container
//   DynamoGraphDeployment                               spec.services, or spec.components from v1beta1 on
//   values of vLLM's production stack                   servingEngineSpec.modelSpec
//   values of llm-d's modelservice                      decode, prefill
//
// A file may have several YAML documents and lists (kind: List). Its ConfigMaps supply variables and files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/line_words.h"

namespace kvcap {

enum class ServerRole : uint8_t { both, prefill, decode };

// A number and its place in the file, for messages.
struct PlacedCount {
  int64_t count = 1;
  std::string place = {};
};

struct ManifestEngine {
  std::string name;             // of the object, service or model
  std::vector<LineWord> words;  // variables, image, program and flags
  PlacedCount instances;
  PlacedCount nodes;                // of each instance
  std::optional<PlacedCount> gpus;  // reserved on each node
  ServerRole role = ServerRole::both;
  std::vector<std::string> notes = {};
};

// An object, service or model that is not read because it has 0 replicas.
struct StoppedServer {
  std::string name, place;  // place: of the number of replicas
};

struct Manifest {
  std::vector<ManifestEngine> engines;
  std::vector<StoppedServer> stopped;
  std::vector<std::string> others;           // kinds of objects without an engine
  std::map<std::string, std::string> files;  // contents of files in ConfigMaps, by file name
};

// Throws InputError, with the file and line, if the text is not YAML or a field is not what its object
// requires.
Manifest parse_manifest(std::string_view text, const std::string& file);

}  // namespace kvcap
