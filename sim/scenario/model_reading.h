// How config.json files with unknown keys or of unknown families are read in this process.
#pragma once

#include <string>
#include <vector>

namespace kvcap {

struct ModelReading {
  std::vector<std::string> assumed_keys;  // --assume: keys that change nothing, says the user
  std::string as_family;                  // --as: a model_type in place of the file's own
};

// Set once, by the command line, before anything is read.
ModelReading& model_reading();

}  // namespace kvcap
