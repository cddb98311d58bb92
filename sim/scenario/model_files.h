// Finds the model that a scenario or a launch line names: in the catalogue, by its name there or on Hugging
// Face; in a file or a downloaded folder; in this machine's caches; or, with --fetch, on Hugging Face.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "scenario/json.h"
#include "scenario/load.h"

namespace kvcap {

// Returns the catalogue model with this name there or on Hugging Face, ignoring case; nullopt if there is
// none.
std::optional<std::string_view> known_model(std::string_view name);

// Returns the entry's names on Hugging Face, separated by spaces.
std::string hugging_face_names(const CatalogueEntry& entry);

// Returns "X is read as llama-3.1-70b of the catalogue" if the names differ by more than a suffix; else
// empty.
std::string taken_as(const std::string& written, std::string_view known);

// True iff the text has the form of a name on Hugging Face, "org/name".
bool is_hub_name(std::string_view text);

// Returns "; kvcap show models org/name --fetch reads it from Hugging Face" for such a name; else empty.
std::string fetch_hint(const std::string& name);

// Returns the folder of the models that kvcap downloaded: $XDG_CACHE_HOME/kvcap/models, else
// ~/.cache/kvcap/models; empty if neither variable is set.
std::filesystem::path fetched_models_folder();

// Returns the path of a model's config.json in a folder with the layout of Hugging Face's cache.
std::filesystem::path hub_config(const std::filesystem::path& hub, const std::string& name,
                                 const std::string& revision);

// Returns the config.json of "Qwen/Qwen3-8B" in the Hugging Face cache (HF_HUB_CACHE, HF_HOME/hub or
// ~/.cache/huggingface/hub) or in kvcap's; otherwise, with --fetch, downloads it. nullopt if there is none.
std::optional<std::filesystem::path> cached_config(const std::string& name);

// Converts a Hugging Face config.json to a kvcap model file; returns a kvcap model file unchanged. Files in
// the same folder are used: hf_quant_config.json, the checkpoint's index or its files,
// generation_config.json. `place` names the file in messages; `file` is empty for an object inside a
// scenario.
Json as_model_file(Json json, const std::string& place, const std::filesystem::path& file);

}  // namespace kvcap
