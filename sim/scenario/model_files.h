// Finds the model that a scenario or a launch line names: in the catalogue, by its name there or on Hugging
// Face; in a file or a downloaded folder; or in this machine's Hugging Face cache. Private to scenario/
// except known_model.
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

// Returns the config.json of "Qwen/Qwen3-8B" in the Hugging Face cache: HF_HUB_CACHE, HF_HOME/hub or
// ~/.cache/huggingface/hub. nullopt if it was never downloaded.
std::optional<std::filesystem::path> cached_config(const std::string& name);

// Converts a Hugging Face config.json to a kvcap model file; returns a kvcap model file unchanged. Files in
// the same folder are used: hf_quant_config.json, the checkpoint's index or its files,
// generation_config.json. `place` names the file in messages; `file` is empty for an object inside a
// scenario.
Json as_model_file(Json json, const std::string& place, const std::filesystem::path& file);

}  // namespace kvcap
