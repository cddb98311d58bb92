// Finds models by the names on launch lines: "Qwen/Qwen3-8B-FP8" is qwen3-8b of the catalogue with 8-bit
// weights.
#pragma once

#include <cstdint>
#include <string>

namespace kvcap {

struct NamedModel {
  std::string name;       // name in the catalogue, or path of a config.json
  bool is_8bit = false;   // 8-bit weights; the catalogue's have more bits
  int64_t positions = 0;  // max_position_embeddings if it differs from the catalogue's; else 0
  std::string note = {};  // given if the catalogue has no model of exactly this name
};

// Throws InputError if the catalogue has no such model.
NamedModel named_model(const std::string& written);

}  // namespace kvcap
