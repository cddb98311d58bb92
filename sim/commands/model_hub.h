// Downloads the files that describe a model, without its weights, from Hugging Face or another hub.
#pragma once

#include <filesystem>
#include <string>

namespace kvcap {

// Downloads the config.json of "org/name" and the files beside it that kvcap reads into the folder of fetched
// models, and returns its path. HF_ENDPOINT names the hub; HF_TOKEN is sent to it alone. Throws InputError.
// REQUIRES: is_hub_name(name).
std::filesystem::path fetch_model(const std::string& name);

}  // namespace kvcap
