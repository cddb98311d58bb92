#include "scenario/model_files.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/python_numbers.h"
#include "base/text/warning.h"
#include "scenario/load.h"
#include "scenario/model_reading.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

std::string lowered(std::string_view text) {
  std::string made(text);
  for (char& letter : made) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return made;
}

// Returns the path of a companion file in the config's folder: "hf_quant_config.json" for "config.json",
// "X_hf_quant_config.json" for "X_config.json".
fs::path beside(const fs::path& config, const std::string& name) {
  std::string file = config.filename().string();
  constexpr std::string_view kConfig = "config.json";
  if (!file.ends_with(kConfig)) return {};
  file.resize(file.size() - kConfig.size());
  return config.parent_path() / (file + name);
}

std::optional<Json> json_beside(const fs::path& config, const std::string& name) {
  const fs::path path = beside(config, name);
  std::error_code ignored;
  if (path.empty() || !fs::is_regular_file(path, ignored)) return std::nullopt;
  return parse_json(with_nulls_for_python_numbers(read_text(path.string())), path.string());
}

void add_quantisation_beside(const fs::path& config, Json& json) {
  if (json.contains("quantization_config")) return;
  std::optional<Json> found = json_beside(config, "hf_quant_config.json");
  if (!found || !found->is_object()) return;
  Json inner = found->contains("quantization") ? (*found)["quantization"] : *found;
  if (inner.is_object() && !inner.contains("quant_method")) inner["quant_method"] = "modelopt";
  json["quantization_config"] = std::move(inner);
}

// True iff a tensor of the checkpoint belongs to layers for multi-token prediction.
bool is_draft_tensor(const std::string& name, int64_t layers) {
  if (name.find("mtp") != std::string::npos) return true;
  const std::size_t found = name.find("layers.");
  if (found == std::string::npos) return false;
  return std::strtoll(name.c_str() + found + 7, nullptr, 10) >= layers;
}

// Returns the bytes of the checkpoint according to its index or its file sizes; 0 if there are no files.
double bytes_beside(const fs::path& config, int64_t layers, bool& has_drafts) {
  const std::optional<Json> index = json_beside(config, "model.safetensors.index.json");
  if (index && index->is_object()) {
    const Json metadata = index->value("metadata", Json::object());
    const Json map = index->value("weight_map", Json::object());
    for (const auto& [tensor, file] : map.items()) has_drafts |= is_draft_tensor(tensor, layers);
    const Json total = metadata.is_object() ? metadata.value("total_size", Json()) : Json();
    return total.is_number() ? total.get<double>() : 0;
  }
  if (config.filename() != "config.json") return 0;
  double bytes = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(config.parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    const bool counts = name.ends_with(".safetensors") && !name.starts_with("consolidated");
    if (counts) bytes += static_cast<double>(entry.file_size(ignored));
  }
  return bytes;
}

// Sets uncounted_weight_bytes: the bytes of the checkpoint minus those computed from its shape. If the two
// differ by 30 % or more, files are missing or belong to another model, and only a note is added.
void add_checkpoint_beside(const fs::path& config, Json& model) {
  bool has_drafts = false;
  const double bytes = bytes_beside(config, model["num_hidden_layers"].get<int64_t>(), has_drafts);
  // A tiny file is a pointer to a file that was not downloaded (Git LFS).
  constexpr double kMinBytes = 1e4, kMaxDeviation = 0.3;
  if (bytes < kMinBytes) return;
  if (!has_drafts) {
    model.erase("draft_layers");
  } else if (!model.contains("draft_layers")) {
    model["draft_layers"] = 1;
  }
  Document document{model, {}};
  document.places.add_file("", config.string(), config.parent_path(), false);
  const ModelSpec counted = read_model(document);
  const double own = bytes - counted.draft_weight_bytes(), by_shape = counted.counted_weight_bytes();
  if (std::abs(own / by_shape - 1) < kMaxDeviation) {
    model["uncounted_weight_bytes"] = own - by_shape;
    return;
  }
  char text[120];
  std::snprintf(
      text, sizeof text,
      ": the checkpoint files in its folder have %.1f GB, but its shape gives %.1f GB, which is used",
      own / 1e9, by_shape / 1e9);
  warn(config.string() + text);
  model["notes"].push_back(config.string() + text);
}

// Adds the sampling defaults of generation_config.json. Values outside the given range have no effect and are
// dropped, such as a top_k of -1, which means all tokens in vLLM.
void add_sampling_beside(const fs::path& config, Json& model) {
  const std::optional<Json> found = json_beside(config, "generation_config.json");
  if (!found || !found->is_object()) return;
  Json sampling = Json::object();
  const auto take = [&](const char* key, double least, double most) {
    const auto value = found->find(key);
    if (value == found->end() || !value->is_number()) return;
    if (value->get<double>() >= least && value->get<double>() <= most) sampling[key] = *value;
  };
  take("temperature", 0, 100);
  take("top_k", 0, 1e6);
  take("top_p", 1e-6, 1);
  if (!sampling.empty()) model["sampling"] = std::move(sampling);
}

// Warns if a name contains a format such as FP8 or NVFP4 but the config has no quantization_config.
void tell_missing_quantisation(const Json& config, const std::string& name, const std::string& place,
                               Json& model) {
  const auto has = [](const Json& object) { return object.contains("quantization_config"); };
  for (const char* part : {"text_config", "llm_config", "language_config"}) {
    if (config.contains(part) && config[part].is_object() && has(config[part])) return;
  }
  if (has(config)) return;
  for (const char* format :
       {"nvfp4", "mxfp4", "fp8", "fp4", "awq", "gptq", "int4", "int8", "w4a16", "w8a8"}) {
    if (lowered(name).find(format) == std::string::npos) continue;
    const std::string told = place + ": " + name + " is called " + format +
                             " but has no quantization_config: torch_dtype gives the size of its weights; put"
                             " hf_quant_config.json into its folder or set model.weight_bytes_per_element";
    warn(told);
    model["notes"].push_back(told);
    return;
  }
}

// Returns the name of the model that a file describes: the file's name or, for a config.json, the name of its
// folder. In the Hugging Face cache, the folder two levels up has the name:
// models--ORG--NAME/snapshots/REVISION.
std::string name_for(const fs::path& file) {
  const fs::path stem = file.stem();
  if (stem != "config" || !file.has_parent_path()) return stem.string();
  const fs::path folder = file.parent_path();
  if (folder.parent_path().filename() != "snapshots") return folder.filename().string();
  const std::string cached = folder.parent_path().parent_path().filename().string();
  return cached.substr(cached.rfind("--") == std::string::npos ? 0 : cached.rfind("--") + 2);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Returns a model's config.json in a folder with the layout of Hugging Face's cache.
std::optional<fs::path> config_in(const fs::path& hub, const std::string& name) {
  const fs::path snapshots = hub_config(hub, name, "main").parent_path().parent_path();
  std::error_code ignored;
  if (!fs::is_directory(snapshots, ignored)) return std::nullopt;
  const fs::path head = snapshots.parent_path() / "refs/main";
  if (fs::is_regular_file(head, ignored)) {
    std::string revision = read_text(head.string());
    std::erase_if(revision, [](unsigned char c) { return std::isspace(c); });
    const fs::path config = hub_config(hub, name, revision);
    if (fs::is_regular_file(config, ignored)) return config;
  }
  for (const auto& entry : fs::directory_iterator(snapshots, ignored)) {
    if (fs::is_regular_file(entry.path() / "config.json", ignored)) return entry.path() / "config.json";
  }
  return std::nullopt;
}

}  // namespace

std::string hugging_face_names(const CatalogueEntry& entry) {
  constexpr std::string_view kKey = "\"hugging_face\": \"";
  const std::size_t found = entry.text.find(kKey);
  if (found == std::string_view::npos) return "";
  const std::size_t begin = found + kKey.size();
  return std::string(entry.text.substr(begin, entry.text.find('"', begin) - begin));
}

std::optional<std::string_view> known_model(std::string_view name) {
  std::string wanted = lowered(name);
  while (wanted.ends_with('/')) wanted.pop_back();
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    if (entry.name == wanted) return entry.name;
  }
  if (wanted.find('/') == std::string::npos) return std::nullopt;
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    const std::string names = " " + lowered(hugging_face_names(entry)) + " ";
    if (names.find(" " + wanted + " ") != std::string::npos) return entry.name;
  }
  return std::nullopt;
}

std::string taken_as(const std::string& written, std::string_view known) {
  std::string name = lowered(written.substr(written.rfind('/', written.size() - 2) + 1));
  if (name.starts_with("meta-")) name.erase(0, 5);
  if (name.starts_with(known)) return "";
  return written + " is read as " + std::string(known) + " of the catalogue, which has its shape and formats";
}

bool is_hub_name(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
  constexpr std::size_t kMostLetters = 200;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || text.find('/', slash + 1) != std::string_view::npos) return false;
  if (text.find_first_not_of(kAllowed) != std::string_view::npos || text.size() > kMostLetters) return false;
  const std::string_view owner = text.substr(0, slash), name = text.substr(slash + 1);
  return !owner.empty() && !name.empty() && owner[0] != '.' && name[0] != '.' && !name.ends_with(".json");
}

std::string fetch_hint(const std::string& name) {
  return is_hub_name(name) ? "; kvcap show models " + name + " --fetch reads it from Hugging Face" : "";
}

fs::path fetched_models_folder() {
  const fs::path cache = environment("XDG_CACHE_HOME");
  if (cache.is_absolute()) return cache / "kvcap/models";
  return environment("HOME").empty() ? fs::path() : fs::path(environment("HOME")) / ".cache/kvcap/models";
}

fs::path hub_config(const fs::path& hub, const std::string& name, const std::string& revision) {
  const std::size_t slash = name.find('/');
  const std::string model = "models--" + name.substr(0, slash) + "--" + name.substr(slash + 1);
  return hub / model / "snapshots" / revision / "config.json";
}

std::optional<fs::path> cached_config(const std::string& name) {
  if (!is_hub_name(name)) return std::nullopt;
  fs::path hub = environment("HF_HUB_CACHE");
  if (hub.empty() && !environment("HF_HOME").empty()) hub = fs::path(environment("HF_HOME")) / "hub";
  if (hub.empty() && !environment("HOME").empty())
    hub = fs::path(environment("HOME")) / ".cache/huggingface/hub";
  for (const fs::path& folder : {hub, fetched_models_folder()}) {
    if (folder.empty()) continue;
    if (auto config = config_in(folder, name)) return config;
  }
  const ModelReading& reading = model_reading();
  if (!reading.fetches || !reading.fetch) return std::nullopt;
  return reading.fetch(name);
}

Json as_model_file(Json json, const std::string& place, const fs::path& file) {
  if (!is_hugging_face(json)) return json;
  const std::string name = file.empty() ? "" : name_for(file);
  if (!file.empty()) add_quantisation_beside(file, json);
  Json model = model_of_hugging_face(json, name, place);
  if (!file.empty()) add_checkpoint_beside(file, model);
  if (!file.empty()) add_sampling_beside(file, model);
  tell_missing_quantisation(json, name, place, model);
  return model;
}

}  // namespace kvcap
