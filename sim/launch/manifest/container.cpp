// Converts a container of a manifest to the words of a launch line.
#include <algorithm>
#include <utility>

#include "launch/manifest/parts.h"

namespace kvcap {
namespace {

class ContainerWords {
 public:
  explicit ContainerWords(const ConfigMaps& maps) : maps_(maps) {}

  void add_variable(const std::string& name, const std::string& value, const std::string& place) {
    variables_[name] = value;
    words.push_back({name + "=" + value, place});
  }

  // Adds a list of {name, value} or {name, valueFrom}.
  void add_variables(const ManifestItem& list) {
    for (const ManifestItem& one : list.elements()) {
      const std::string name = one["name"].text();
      const ManifestItem value = one["value"], source = one["valueFrom"];
      const std::string place = one.place();
      if (!source.exists()) {
        add_variable(name, expanded(value.text(true)), place);
      } else if (const std::string* known = find(source["configMapKeyRef"])) {
        add_variable(name, *known, place);
      } else {
        add_variable(name, "$(" + name + ")", place);  // known only in the cluster
      }
    }
  }

  // Adds the variables of ConfigMaps. Secrets are skipped because their variables do not configure engines.
  void add_sources(const ManifestItem& list) {
    for (const ManifestItem& one : list.elements()) {
      const ManifestItem reference = one["configMapRef"];
      if (!reference.exists()) continue;
      const std::string name = reference["name"].text(), prefix = one["prefix"].text();
      const auto map = maps_.find(name);
      if (map == maps_.end()) {
        notes.push_back(one.place() + ": ConfigMap " + name +
                        " is not in the file; its variables are not read");
        continue;
      }
      for (const auto& [key, value] : map->second) add_variable(prefix + key, value, one.place());
    }
  }

  void add_words(const ManifestItem& list) {
    for (const ManifestItem& one : list.elements()) words.push_back({expanded(one.text(true)), one.place()});
  }

  std::vector<LineWord> words;
  std::vector<std::string> notes;

 private:
  const std::string* find(const ManifestItem& reference) const {
    if (!reference.exists()) return nullptr;
    const auto map = maps_.find(reference["name"].text());
    if (map == maps_.end()) return nullptr;
    const auto value = map->second.find(reference["key"].text());
    return value == map->second.end() ? nullptr : &value->second;
  }

  // Replaces "$(TP)" as Kubernetes does; unknown variables stay.
  std::string expanded(const std::string& text) const {
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t end = text.compare(i, 2, "$(") == 0 ? text.find(')', i) : std::string::npos;
      const auto known =
          end == std::string::npos ? variables_.end() : variables_.find(text.substr(i + 2, end - i - 2));
      result += known == variables_.end() ? text.substr(i, 1) : known->second;
      i = known == variables_.end() ? i + 1 : end + 1;
    }
    return result;
  }

  const ConfigMaps& maps_;
  std::map<std::string, std::string> variables_;
};

// Returns the GPUs that a container reserves.
std::optional<PlacedCount> gpus_of(const ManifestItem& resources) {
  for (const char* kind : {"limits", "requests"}) {
    for (const auto& [name, value] : resources[kind].members()) {
      if (name.starts_with("nvidia.com/mig")) value.refuse("a part of a GPU (" + name + ")", "whole GPUs");
      if (name != "nvidia.com/gpu" && name != "amd.com/gpu" && name != "gpu") continue;
      return PlacedCount{.count = value.count(0), .place = value.place()};
    }
  }
  return std::nullopt;
}

// Returns the role that the engine's flags give, or `role` if they give none.
ServerRole role_in(const std::vector<LineWord>& words, ServerRole role) {
  constexpr std::string_view kMode = "--disaggregation-mode";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string flag = normal_flag(words[i].text);
    if (flag == "--is-prefill-worker" || flag.find("\"kv_producer\"") != std::string::npos)
      role = role_of("prefill");
    if (flag == "--is-decode-worker" || flag.find("\"kv_consumer\"") != std::string::npos)
      role = role_of("decode");
    if (flag == kMode && i + 1 < words.size()) role = role_of(words[i + 1].text);
    if (flag.starts_with(std::string(kMode) + "=")) role = role_of(flag.substr(kMode.size() + 1));
  }
  return role;
}

}  // namespace

ServerRole role_of(const std::string& word) {
  if (word == "prefill") return ServerRole::prefill;
  return word == "decode" ? ServerRole::decode : ServerRole::both;
}

std::optional<ManifestEngine> engine_of(const ManifestItem& container, const ContainerFrame& frame,
                                        const ConfigMaps& maps, const std::vector<LineWord>& program) {
  ContainerWords before(maps);
  for (const auto& [name, value] : frame.values) before.add_variable(name, value.text(), value.place());
  for (const ManifestItem& list : frame.variables) before.add_variables(list);
  before.add_sources(container["envFrom"]);
  before.add_variables(container["env"]);
  const std::size_t first_word = before.words.size();
  before.words.insert(before.words.end(), program.begin(), program.end());
  if (program.empty()) before.add_words(container["command"]);
  const bool has_command = before.words.size() > first_word;
  before.add_words(container["args"]);

  const auto begin = before.words.begin() + static_cast<std::ptrdiff_t>(first_word);
  const std::vector<LineWord> run = without_shell({begin, before.words.end()});
  const std::optional<EngineWords> found = find_engine(run);
  const ManifestItem image = container["image"];
  const LineWord image_word{image.text(true), image.place()};
  const bool is_named = found && !found->is_image && found->first_flag < run.size();
  if (!is_named && (has_command || !find_engine({image_word}))) return std::nullopt;

  ManifestEngine engine{.name = frame.name, .words = {}, .instances = frame.instances, .nodes = frame.nodes};
  engine.words.assign(before.words.begin(), begin);
  if (image.exists()) engine.words.push_back(image_word);
  engine.words.insert(engine.words.end(), run.begin(), run.end());
  engine.gpus = gpus_of(frame.resources.value_or(container["resources"]));
  engine.role = role_in(run, frame.role);
  engine.notes = before.notes;
  return engine;
}

}  // namespace kvcap
