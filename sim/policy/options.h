// A policy as a scenario describes it: a name, which is a preset, and what the scenario sets otherwise.
// An absent field means the preset's value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "state/options.h"

namespace kvcap {

enum class Preload : uint8_t { none, layerwise };
enum class SaveMode : uint8_t { background, direct_io };
// How HCache divides a context over restoration methods (HCache 4.1.2, 6.3.1, 6.3.2).
enum class Split : uint8_t { best, paper, hidden_only, naive_hybrid, token, token_rounded };

struct PolicyOptions {
  std::string name = "hcache";
  std::optional<std::vector<TierOptions>> tiers;  // absent: every tier of the profile at full size
  std::optional<Preload> preload;
  std::optional<int64_t> read_buffer_layers;  // how many layers loads may run ahead of computation
  std::optional<SaveMode> save;
  std::optional<Split> split;
  std::optional<int64_t> split_tokens;  // history length the stored form is chosen for; absent: the mean
  std::optional<bool> store_hidden_for_recomputed;
};

}  // namespace kvcap
