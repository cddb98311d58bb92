// Resolves references (catalogue names, paths, Hugging Face configs) and applies --set overrides. The result
// is one JSON object, which read.cpp reads by means of the table of fields.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <utility>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/joined.h"
#include "base/text/json_document.h"
#include "base/text/note.h"
#include "base/text/python_numbers.h"
#include "base/text/utf8.h"
#include "policy/table.h"
#include "scenario/fields.h"
#include "scenario/json.h"
#include "scenario/load.h"
#include "scenario/model_files.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

struct Loaded {
  Json json;
  std::string file;
  fs::path folder;
  std::string hub_name = {};  // the requested name on Hugging Face; empty: a file or a catalogue name
};

bool looks_like_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".json");
}

// Returns the text of a file that the scenario refers to at `place`.
std::string read_referenced(const std::string& file, const std::string& place) {
  try {
    return read_text(file);
  } catch (const InputError& error) {
    throw InputError(place + ": " + error.what());
  }
}

// Returns the parsed entry. Parses each entry once per process, because plans and sweeps load a few entries
// hundreds of times. Thread-safe.
const Json& parsed(const CatalogueEntry& entry, const std::string& file) {
  static std::mutex mutex;
  static std::map<const char*, Json> entries;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [found, is_new] = entries.try_emplace(entry.text.data());
  if (is_new) found->second = parse_json(entry.text, file);
  return found->second;
}

std::optional<Loaded> of_catalogue(std::string_view name, Catalogue which) {
  const char* folder = which == Catalogue::models ? "models/" : "hwprofiles/";
  for (const CatalogueEntry& entry : catalogue(which)) {
    if (entry.name != name) continue;
    const std::string file = folder + std::string(name) + ".json";
    return Loaded{parsed(entry, file), file, {}};
  }
  return std::nullopt;
}

// Returns "; did you mean \"h200-sxm\"?"; "" if no name is near.
std::string near_profile(const std::string& name, const std::vector<std::string_view>& names) {
  std::string lower = name;
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  std::vector<std::string_view> begun;
  for (std::string_view one : names) {
    if (!lower.empty() && one.starts_with(lower)) begun.push_back(one);
  }
  if (begun.empty()) return suggestion(name, names);
  const std::string_view family = *std::min_element(
      begun.begin(), begun.end(), [](std::string_view a, std::string_view b) { return a.size() < b.size(); });
  const bool is_one =
      std::all_of(begun.begin(), begun.end(), [&](std::string_view one) { return one.starts_with(family); });
  if (is_one) return "; did you mean \"" + std::string(family) + "\"?";
  return "; did you mean one of " + joined(begun) + "?";
}

[[noreturn]] void fail_unknown(const std::string& name, Catalogue which, const std::string& place) {
  if (which == Catalogue::hardware) throw InputError(place + ": " + unknown_profile(name) + ", or a path");
  std::vector<std::string_view> near;
  for (const CatalogueEntry& entry : catalogue(which)) near.push_back(entry.name);
  std::vector<std::string> hub;
  for (const CatalogueEntry& entry : catalogue(which)) {
    std::istringstream ids(hugging_face_names(entry));
    for (std::string id; ids >> id;) hub.push_back(id);
  }
  near.insert(near.end(), hub.begin(), hub.end());
  throw InputError(
      place + ": found \"" + name +
      "\", allowed: a name of kvcap show models, a Hugging Face name that is in the catalogue or "
      "in the cache of this machine, or a path to a file or a downloaded folder" +
      fetch_hint(name) + suggestion(name, near));
}

Loaded load_catalogue_or_path(const std::string& name, Catalogue which, const fs::path& folder,
                              const std::string& place) {
  const bool models = which == Catalogue::models;
  if (auto found = of_catalogue(name, which)) return *std::move(found);
  fs::path path = folder / name;
  std::error_code ignored;
  std::string hub_name;
  if (fs::is_directory(path, ignored) && fs::exists(path / "config.json", ignored)) path /= "config.json";
  const bool is_there = fs::is_regular_file(path, ignored);
  if (models && !is_there) {
    if (const auto known = known_model(name)) {
      Loaded found = *of_catalogue(*known, which);
      found.hub_name = is_hub_name(name) ? name : "";
      return found;
    }
    if (const auto cached = cached_config(name)) {
      path = *cached;
      hub_name = name;
    } else if (!name.ends_with(".json") && !fs::exists(path, ignored)) {
      fail_unknown(name, which, place);
    }
  }
  if (!looks_like_path(name) && !is_there) fail_unknown(name, which, place);
  const std::string file = path.lexically_normal().string();
  const std::string text = read_referenced(file, place);
  return {parse_json(models ? with_nulls_for_python_numbers(text) : text, file), file, path.parent_path(),
          hub_name};
}

Json policy_of(const std::string& name, Places& places) {
  const std::string place = places.at("policy");
  const Names policies = policy_names();
  if (looks_like_path(name)) {
    const fs::path path = places.folder("policy") / name;
    Json policy = parse_json(read_referenced(path.string(), place), path.string());
    places.add_file("policy", path.string(), path.parent_path(), true);
    return policy;
  }
  if (std::find(policies.begin(), policies.end(), name) == policies.end()) {
    throw InputError(place + ": found \"" + name + "\", allowed: " + joined(policies) + ", or a path" +
                     suggestion(name, policies));
  }
  return {{"name", name}};
}

// Returns the number at hardware.PART.KEY; `absent` if the part lacks the key, 0 if there is no such part.
double amount_of(const Json& hardware, const char* part, const char* key, double absent) {
  const Json object = hardware.is_object() ? hardware.value(part, Json()) : Json();
  const Json amount = object.is_object() ? object.value(key, Json(absent)) : Json();
  return amount.is_number() ? amount.get<double>() : 0;
}

void note_profile(const Json& hardware, Document& document) {
  document.profile_gpus = amount_of(hardware, "gpu", "count", 1);
  document.profile_memory_bytes = amount_of(hardware, "gpu", "memory_bytes", 0);
  document.profile_dram_bytes = amount_of(hardware, "dram", "capacity_bytes", 0);
  document.profile_ssd_bytes =
      amount_of(hardware, "ssd", "count", 1) * amount_of(hardware, "ssd", "capacity_bytes", 0);
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts(1);
  for (char letter : path) {
    if (letter == '.') {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

constexpr std::string_view kDraftModel = "serving.speculative.draft_model";

// Returns the value at `path`; null if it is missing.
Json* find_at(Json& json, std::string_view path) {
  Json* node = &json;
  for (const std::string& part : split_path(path)) {
    if (!node->is_object()) return nullptr;
    const auto found = node->find(part);
    if (found == node->end()) return nullptr;
    node = &*found;
  }
  return node;
}

// Replaces the reference at `key` of a scenario by its contents.
void resolve_reference(Document& document, std::string_view key) {
  Json* const found = find_at(document.json, key);
  if (!found) return;
  const bool is_model = key == "model" || key == kDraftModel;
  Places& places = document.places;
  if (!found->is_string()) {
    if (is_model) *found = as_model_file(std::move(*found), places.at(key), {});
    return;
  }
  const auto name = found->get<std::string>();
  if (key == "policy") {
    *found = policy_of(name, places);
    return;
  }
  const Catalogue which = is_model ? Catalogue::models : Catalogue::hardware;
  Loaded loaded = load_catalogue_or_path(name, which, places.folder(key), places.at(key));
  *found = std::move(loaded.json);
  places.add_file(key, loaded.file, loaded.folder, true);
  if (is_model) *found = as_model_file(std::move(*found), loaded.file, loaded.file);
  // Several checkpoints share a shape, so the model keeps the requested name for deployments.
  if (!loaded.hub_name.empty()) (*found)["hugging_face"] = loaded.hub_name;
  if (is_model) {
    const auto known = known_model(name);
    const std::string note = known && loaded.folder.empty() ? taken_as(name, *known) : "";
    if (!note.empty()) document.notes.push_back(note);
  }
  if (key == "hardware") note_profile(*found, document);
}

// Returns the member `part` of `node`. Creates a missing member; arrays can grow by one entry.
Json& step_into(Json& node, const std::string& part, const std::string& path, const std::string& place) {
  const std::string whole = path.empty() ? "the scenario" : path;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  const bool is_index = error == std::errc() && end == part.data() + part.size();
  if (node.is_null()) node = is_index ? Json::array() : Json::object();
  if (node.is_object()) return node[part];
  if (!node.is_array()) throw InputError(place + ": " + whole + " has no members, it is " + shown(node));
  if (!is_index || index > node.size()) {
    throw InputError(place + ": found index \"" + part + "\", allowed: an integer from 0 to " +
                     std::to_string(node.size()) + " (entries of " + whole + ")");
  }
  if (index == node.size()) node.push_back(nullptr);
  return node[index];
}

// Returns the value as JSON, or as a string if it is not JSON.
Json json_or_text(const Override& override) {
  try {
    return read_json<Json>(override.value);
  } catch (const JsonFault& fault) {
    if (fault.is_refused_json) throw InputError(override.place + ": " + fault.reason);
    return override.value;
  }
}

// Throws InputError for "max_num_seqs", which is a field of `serving`.
void refuse_bare_name(const Override& override) {
  const std::string name = override.path.substr(0, override.path.find('.'));
  std::vector<std::string> paths;
  for (const FieldHelp& field : scenario_fields()) {
    if (field.path == name || field.path.starts_with(name + ".")) return;
    const bool is_last = field.path.ends_with("." + name);
    if (is_last && field.path.find('.') == field.path.size() - name.size() - 1) paths.push_back(field.path);
  }
  if (paths.empty()) return;
  throw InputError(override.place + ": unknown key; did you mean " + joined(paths, " or ") + "?");
}

void apply_override(Document& document, const Override& override) {
  const std::string& path = override.path;
  if (path.find('.') == std::string::npos && !document.json.contains(path)) refuse_bare_name(override);
  Json value = json_or_text(override);
  Json* node = &document.json;
  std::string walked, created;
  for (const std::string& part : split_path(path)) {
    node = &step_into(*node, part, walked, override.place);
    walked = below(walked, part);
    if (created.empty() && node->is_null()) created = walked;
  }
  *node = std::move(value);
  document.places.add_override(path, created.empty() ? path : created, override.place, override.folder,
                               override.value);
  if (path == "model" || path == "hardware" || path == "policy") resolve_reference(document, path);
  if (kDraftModel.starts_with(path)) resolve_reference(document, kDraftModel);
}

// Returns an author's note with the label of outdated notes; other notes are unchanged.
Json outdated(const Json& note) {
  const bool is_fresh = note.is_string() && kind_of(note.get_ref<const std::string&>()) == NoteKind::detail;
  return is_fresh ? Json(noted(NoteKind::outdated, note.get_ref<const std::string&>())) : note;
}

// Labels notes as outdated in every object in which overrides changed a field. New objects keep their notes.
void label_outdated_notes(const Json& before, Json& now) {
  if (now == before || before.type() != now.type() || !now.is_structured()) return;
  for (auto& [key, value] : now.items()) {
    const bool is_new = now.is_array() ? std::stoul(key) >= before.size() : !before.contains(key);
    if (is_new) continue;
    const Json& old = now.is_array() ? before[std::stoul(key)] : before[key];
    if (key != "notes") {
      label_outdated_notes(old, value);
    } else if (value == old && value.is_array()) {
      for (Json& note : value) note = outdated(note);
    } else if (value == old) {
      value = outdated(value);
    }
  }
}

Document resolve_file(const std::string& name_or_path, Catalogue which) {
  const std::string place = which == Catalogue::models ? "model" : "hardware";
  Loaded loaded = load_catalogue_or_path(name_or_path, which, {}, place);
  Document document{std::move(loaded.json), {}};
  document.places.add_file("", loaded.file, loaded.folder, false);
  if (which == Catalogue::models) {
    document.json = as_model_file(std::move(document.json), loaded.file, loaded.file);
  }
  return document;
}

}  // namespace

std::string unknown_profile(const std::string& name) {
  std::vector<std::string_view> names;
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) names.push_back(entry.name);
  // "h100" means h100-sxm, not the profile of a calibrated virtual machine.
  std::vector<std::string_view> near = names;
  std::erase_if(near, [](std::string_view one) { return one.ends_with("-vm"); });
  const std::string suggested = near_profile(name, near);
  return "found \"" + name + "\"" + suggested + (suggested.empty() ? ", " : " ") +
         "allowed: " + joined(names);
}

Override override_of(const std::string& argument) {
  constexpr std::size_t kLongestShown = 200;
  const std::size_t equals = argument.find('=');
  const bool is_long = argument.size() > kLongestShown;
  const std::string place = "--set " + (is_long ? argument.substr(0, kLongestShown) + "..." : argument);
  if (!is_utf8(argument)) throw InputError(place + ": is not UTF-8");
  if (equals == std::string::npos || equals == 0) {
    throw InputError(place + ": allowed: path=value, for example --set serving.max_num_seqs=64");
  }
  // An empty string must be explicit: name="".
  if (equals + 1 == argument.size()) {
    throw InputError(place +
                     ": found no value (a shell variable that is not set is empty), allowed: path=value, " +
                     "for example --set serving.max_num_seqs=64");
  }
  return {argument.substr(0, equals), argument.substr(equals + 1), place, {}};
}

Document resolve_scenario(std::string_view text, const std::string& file,
                          const std::vector<Override>& overrides) {
  Document document{parse_json(text, file), {}};
  document.places.add_file("", file, fs::path(file).parent_path(), false);
  if (!document.json.is_object()) {
    throw InputError(file + ": found " + shown(document.json) + ", allowed: an object");
  }
  for (std::string_view key : {"model", "hardware", "policy"}) resolve_reference(document, key);
  resolve_reference(document, kDraftModel);
  Json written = document.json;
  for (const Override& override : overrides) apply_override(document, override);
  // Notes do not depend on these fields.
  for (const char* field : {"seed", "replications", "name"}) {
    if (document.json.contains(field)) written[field] = document.json[field];
  }
  label_outdated_notes(written, document.json);
  take_prices(document);
  take_share(document);
  drop_old_dates(document);
  take_engine(document);
  return document;
}

Document resolve_model(const std::string& name_or_path) {
  return resolve_file(name_or_path, Catalogue::models);
}

Document resolve_hardware(const std::string& name_or_path) {
  return resolve_file(name_or_path, Catalogue::hardware);
}

}  // namespace kvcap
