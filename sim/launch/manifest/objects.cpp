// Finds the engines in Kubernetes and Dynamo objects.
#include "launch/manifest/parts.h"

namespace kvcap {
namespace {

PlacedCount count_of(const ManifestItem& item) { return {.count = item.count(1), .place = item.place()}; }

// Adds the engines of a pod. If a pod has several engines, the names of their containers are appended.
void add_pod(const ManifestItem& spec, const ContainerFrame& frame, const ConfigMaps& maps,
             Manifest& manifest) {
  const std::size_t first = manifest.engines.size();
  std::vector<std::string> names;
  for (const ManifestItem& container : spec["containers"].elements()) {
    std::optional<ManifestEngine> engine = engine_of(container, frame, maps);
    if (!engine) continue;
    names.push_back(container["name"].text());
    manifest.engines.push_back(std::move(*engine));
  }
  for (std::size_t i = 0; names.size() > 1 && i < names.size(); ++i) {
    manifest.engines[first + i].name += "/" + names[i];
  }
}

// Returns the pod template that runs the engine's server.
ManifestItem pod_template(const ManifestItem& object) {
  const ManifestItem spec = object["spec"], leaders = spec["leaderWorkerTemplate"];
  if (!leaders.exists()) return spec["template"];
  return leaders["leaderTemplate"].exists() ? leaders["leaderTemplate"] : leaders["workerTemplate"];
}

}  // namespace

bool add_kubernetes(const ManifestItem& object, const ConfigMaps& maps, Manifest& manifest) {
  const std::string kind = object["kind"].text();
  ContainerFrame frame{.name = object["metadata"]["name"].text()};
  if (frame.name.empty()) frame.name = kind;
  const std::size_t before = manifest.engines.size();
  if (kind == "Pod") {
    add_pod(object["spec"], frame, maps, manifest);
    return manifest.engines.size() > before;
  }
  const ManifestItem pod = pod_template(object), size = object["spec"]["leaderWorkerTemplate"]["size"];
  frame.instances = count_of(object["spec"]["replicas"]);
  if (pod.exists() && frame.instances.count == 0)
    manifest.stopped.push_back({frame.name, frame.instances.place});
  if (!pod.exists() || frame.instances.count == 0) return false;
  frame.role = role_of(pod["metadata"]["labels"]["llm-d.ai/role"].text());
  if (size.exists()) {
    frame.nodes = count_of(size);
    frame.values.emplace_back("LWS_GROUP_SIZE", size);
  }
  add_pod(pod["spec"], frame, maps, manifest);
  return manifest.engines.size() > before;
}

bool add_dynamo(const ManifestItem& object, const ConfigMaps& maps, Manifest& manifest) {
  if (object["kind"].text() != "DynamoGraphDeployment") return false;
  const ManifestItem spec = object["spec"];
  const auto frame_of = [&](const std::string& name, const ManifestItem& part) {
    const std::string role = part["subComponentType"].text(), type = part["type"].text();
    ContainerFrame frame{.name = name,
                         .instances = count_of(part["replicas"]),
                         .nodes = count_of(part["multinode"]["nodeCount"]),
                         .role = role_of(role.empty() ? type : role),
                         .variables = {spec["envs"], spec["env"], part["envs"]}};
    if (part["resources"].exists()) frame.resources.emplace(part["resources"]);
    return frame;
  };
  const std::size_t before = manifest.engines.size();
  for (const auto& [name, service] : spec["services"].members()) {
    const ContainerFrame frame = frame_of(name, service);
    if (frame.instances.count == 0) {
      manifest.stopped.push_back({name, frame.instances.place});
      continue;
    }
    const ManifestItem container = service["extraPodSpec"]["mainContainer"];
    if (auto engine = engine_of(container, frame, maps)) manifest.engines.push_back(std::move(*engine));
  }
  for (const ManifestItem& component : spec["components"].elements()) {
    const ContainerFrame frame = frame_of(component["name"].text(), component);
    if (frame.instances.count == 0) {
      manifest.stopped.push_back({frame.name, frame.instances.place});
      continue;
    }
    add_pod(component["podTemplate"]["spec"], frame, maps, manifest);
  }
  return manifest.engines.size() > before;
}

}  // namespace kvcap
