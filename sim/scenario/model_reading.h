// ModelReading: process-wide options that say how to read config.json files with unknown keys or of unknown
// families, and whether to download models that this machine does not have.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace kvcap {

struct ModelReading {
  std::vector<std::string> assumed_keys;  // --assume: keys that the user declares irrelevant
  std::string as_family;                  // --as: a model_type that replaces the file's own
  bool fetches = false;                   // --fetch: `fetch` may be called
  // Downloads the files of "org/name" and returns its config.json. Throws InputError.
  std::function<std::filesystem::path(const std::string& name)> fetch;
};

// Returns the options. The command line sets them once, before any file is read.
ModelReading& model_reading();

}  // namespace kvcap
