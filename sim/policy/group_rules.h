// What policies can do with models whose layers keep different state (LayerGroup). What is loaded is what a
// layer needs of a context: all of it, its window, or one state. A policy that would need more refuses.
#pragma once

#include <optional>
#include <string>

#include "policy/options.h"
#include "spec/model_spec.h"

namespace kvcap {

// Of `found` tokens behind `resident` ones, those whose keys and values a layer of the group needs for the
// tokens that follow: the ones it keeps at that length. None for recurrent layers, which need a state.
int64_t needed_tokens(const LayerGroup& group, int64_t found, int64_t resident);

struct GroupRefusal {
  std::string field;  // of the policy: "restore"
  std::string found;
  std::string allowed;  // with the reason
};
// Why the policy cannot serve the model; nothing where it can, as always for layers that keep all tokens.
// REQUIRES: the options have their preset.
std::optional<GroupRefusal> refusal(const PolicyOptions& options, const ModelSpec& model);

}  // namespace kvcap
