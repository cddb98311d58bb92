// Downloads the files that describe a model, but not its weights, from Hugging Face or another hub.
#pragma once

#include <filesystem>
#include <string>

namespace kvcap {

// Downloads the config.json of "org/name" and the files next to it that kvcap reads into the folder of
// fetched models. Returns the path of the config.json. HF_ENDPOINT names the hub, and HF_TOKEN is sent only
// to it. Throws InputError. REQUIRES: is_hub_name(name).
std::filesystem::path fetch_model(const std::string& name);

}  // namespace kvcap
