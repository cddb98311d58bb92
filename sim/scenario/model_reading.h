// ModelReading: options of this process for config.json files with unknown keys or of unknown families.
#pragma once

#include <string>
#include <vector>

namespace kvcap {

struct ModelReading {
  std::vector<std::string> assumed_keys;  // --assume: keys that the user declares irrelevant
  std::string as_family;                  // --as: a model_type that replaces the file's own
};

// Returns the options. The command line sets them once, before any file is read.
ModelReading& model_reading();

}  // namespace kvcap
