// Tells which keys of a scenario's policy have an effect. Every policy accepts every key, so that one
// scenario serves several policies; a note of the result names keys that have no effect.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "policy/options.h"

namespace kvcap {

// Conditions outside the policy that determine which keys have an effect.
struct KeySurroundings {
  bool keeps = false;       // some tier, possibly on the GPU, stores contexts
  bool host_tiers = false;  // some host tier stores contexts
  bool scores = false;      // some tier evicts by score
  bool pieces = false;      // prompts consist of pieces
  bool texts = false;       // pieces are texts, so separate calls can ask about each
};

// Returns the names of all keys except `name`.
std::span<const std::string_view> policy_keys();

// Returns the keys set in `given` that have no effect; `options` are `given` with their preset. `tiers` is
// never included, because policies that keep nothing obviously do not use it.
std::vector<std::string_view> unused_keys(const PolicyOptions& given, const PolicyOptions& options,
                                          const KeySurroundings& where);
// Returns the keys that have an effect on some machine with some workload. REQUIRES: `options` have their
// preset.
std::vector<std::string_view> heard_keys(const PolicyOptions& options);

}  // namespace kvcap
