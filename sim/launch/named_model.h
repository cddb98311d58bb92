// Finds models by the names on launch lines: "Qwen/Qwen3-8B-FP8" is qwen3-8b of the catalogue with 8-bit
// weights.
#pragma once

#include <cstdint>
#include <string>

namespace kvcap {

struct NamedModel {
  std::string name;            // name in the catalogue, or path of a config.json
  bool is_8bit = false;        // the weights have 8 bits, but those of the catalogue's model have more
  int64_t positions = 0;       // max_position_embeddings if it differs from the catalogue's; else 0
  std::string note = {};       // note to the user; empty if the catalogue has a model of exactly this name
  bool has_wide_kv = false;    // the KV cache has 16 bits, but that of the catalogue's model has fewer
  bool has_no_blocks = false;  // unlike those of the catalogue's model, the weights have no scales of blocks
};

// Returns the model that `written` names. Throws InputError if the catalogue has no such model.
NamedModel named_model(const std::string& written);

}  // namespace kvcap
