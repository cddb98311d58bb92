// Models as launch lines name them: "Qwen/Qwen3-8B-FP8" is qwen3-8b of the catalogue with weights of 8 bits.
#pragma once

#include <cstdint>
#include <string>

namespace kvcap {

struct NamedModel {
  std::string name;       // of the catalogue, or the path of a config.json
  bool is_8bit = false;   // its weights have 8 bits, and the catalogue's have more
  int64_t positions = 0;  // its max_position_embeddings where they differ from the catalogue's; 0: the same
  std::string note = {};  // where the catalogue has no model of exactly this name
};

// Throws InputError where the catalogue has no such model.
NamedModel named_model(const std::string& written);

}  // namespace kvcap
