#include "scenario/load.h"

#include <filesystem>

#include "base/files.h"
#include "base/input_error.h"
#include "scenario/check.h"
#include "scenario/json.h"

namespace kvcap {

namespace {

// "chat" of "scenarios/chat.json"; empty for a part of a file and for what is none.
std::string name_of(const std::filesystem::path& file) {
  return file.extension() == ".json" ? file.stem().string() : "";
}

std::vector<Override> overrides_of(const std::vector<std::string>& arguments) {
  std::vector<Override> overrides;
  for (const std::string& argument : arguments) overrides.push_back(override_of(argument));
  return overrides;
}

}  // namespace

Scenario parse_scenario(std::string_view text, const std::string& file,
                        const std::vector<std::string>& overrides) {
  return parse_scenario_with(text, file, overrides_of(overrides));
}

Scenario parse_scenario_with(std::string_view text, const std::string& file,
                             const std::vector<Override>& overrides) {
  const Document document = resolve_scenario(text, file, overrides);
  Scenario scenario = read_scenario(document);
  if (scenario.name.empty()) scenario.name = name_of(file);
  scenario.file = file;
  if (!scenario.serving.max_model_len) {
    scenario.serving.max_model_len = scenario.model.max_position_embeddings;
  }
  scenario.resolved_json = write_scenario(scenario).dump();
  check_scenario(scenario, document.places);
  // Only now: the resolved scenario keeps the path as it was written.
  const auto follow = [&document](std::string_view field, std::string& path) {
    if (!path.empty()) path = (document.places.folder(field) / path).lexically_normal().string();
  };
  follow("workload.source.path", scenario.workload.source.path);
  follow("workload.source.token_counts", scenario.workload.source.token_counts);
  follow("workload.source.hash_ids", scenario.workload.source.hash_ids);
  return scenario;
}

Scenario load_scenario(const std::string& path, const std::vector<std::string>& overrides) {
  const std::size_t hash = path.rfind('#');
  if (hash == std::string::npos || std::filesystem::exists(path)) {
    return parse_scenario(read_text(path), path, overrides);
  }
  const std::string file = path.substr(0, hash), member = path.substr(hash + 1);
  const Json whole = parse_json(read_text(file), file);
  if (!whole.is_object() || !whole.contains(member)) {
    throw InputError(path + ": " + file + " has no member \"" + member + "\"");
  }
  return parse_scenario(whole[member].dump(), path, overrides);
}

ModelSpec load_model(const std::string& name_or_path) {
  const Document document = resolve_model(name_or_path);
  ModelSpec model = read_model(document);
  check_model(model, document.places, "");
  return model;
}

HardwareProfile load_hardware(const std::string& name_or_path) {
  const Document document = resolve_hardware(name_or_path);
  HardwareProfile hardware = read_hardware(document);
  check_hardware(hardware, document.places, "");
  return hardware;
}

}  // namespace kvcap
