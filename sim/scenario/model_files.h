// Finds the model that a scenario or a launch command names: in the catalogue, by its catalogue or Hugging
// Face name; in a file or a downloaded folder; in this machine's caches; or, with --fetch, on Hugging Face.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "scenario/json.h"
#include "scenario/load.h"

namespace kvcap {

// Returns the catalogue name of the model that has `name` in the catalogue or on Hugging Face, ignoring case;
// nullopt if there is none.
std::optional<std::string_view> known_model(std::string_view name);

// Returns the names on Hugging Face of a catalogue model, separated by spaces.
std::string hugging_face_names(const CatalogueEntry& entry);

// Returns a note such as "X is read as llama-3.1-70b of the catalogue" if the names differ by more than a
// suffix; else an empty text.
std::string taken_as(const std::string& written, std::string_view known);

// True iff the text has the form of a name on Hugging Face, "org/name".
bool is_hub_name(std::string_view text);

// Returns "; kvcap show models org/name --fetch reads it from Hugging Face" if `name` has the form
// "org/name"; else an empty text.
std::string fetch_hint(const std::string& name);

// Returns the folder of the models that kvcap downloaded: $XDG_CACHE_HOME/kvcap/models, else
// ~/.cache/kvcap/models; empty if neither variable is set.
std::filesystem::path fetched_models_folder();

// Returns the path of a model's config.json in a folder with the layout of Hugging Face's cache.
std::filesystem::path hub_config(const std::filesystem::path& hub, const std::string& name,
                                 const std::string& revision);

// Returns the path of the config.json of a model such as "Qwen/Qwen3-8B". Searches the Hugging Face cache
// (HF_HUB_CACHE, HF_HOME/hub or ~/.cache/huggingface/hub), then kvcap's own cache; with --fetch, downloads a
// file that is in neither. nullopt if there is none.
std::optional<std::filesystem::path> cached_config(const std::string& name);

// Converts a Hugging Face config.json to a kvcap model file; returns a kvcap model file unchanged. Files in
// the same folder are used: hf_quant_config.json, the checkpoint's index or its files,
// generation_config.json. `place`: name of the file in messages. `file`: empty for an object inside a
// scenario.
Json as_model_file(Json json, const std::string& place, const std::filesystem::path& file);

}  // namespace kvcap
