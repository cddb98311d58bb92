// Where a model is found that a scenario or a launch line names: in the catalogue, by its name there or on
// Hugging Face; in a file or a downloaded folder; or in Hugging Face's cache on this machine. Private to
// scenario/ but for known_model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "scenario/json.h"
#include "scenario/load.h"

namespace kvcap {

// The model of the catalogue that has this name there or on Hugging Face, in any case of letters.
std::optional<std::string_view> known_model(std::string_view name);

// Its names on Hugging Face, with spaces between, as it is written.
std::string hugging_face_names(const CatalogueEntry& entry);

// "X is read as llama-3.1-70b of the catalogue" where the names differ by more than endings; else empty.
std::string taken_as(const std::string& written, std::string_view known);

// The config.json of "Qwen/Qwen3-8B" in Hugging Face's cache: HF_HUB_CACHE, HF_HOME/hub or
// ~/.cache/huggingface/hub. Nothing where it was never downloaded.
std::optional<std::filesystem::path> cached_config(const std::string& name);

// A Hugging Face config.json, or one of our own files, as one of ours. What stands beside the file counts:
// hf_quant_config.json, the checkpoint's index or its files, generation_config.json. `place` names the file
// in messages; `file` is empty where the object stands in a scenario.
Json as_model_file(Json json, const std::string& place, const std::filesystem::path& file);

}  // namespace kvcap
