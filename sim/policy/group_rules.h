// Rules for using policies with models whose layers keep different kinds of state (LayerGroup). A restoration
// loads the part of a context that each layer needs: all of it, its window, or one state. Policies that need
// more of a layer than it keeps are refused.
#pragma once

#include <optional>
#include <string>

#include "policy/options.h"
#include "spec/model_spec.h"

namespace kvcap {

// Returns how many of the `found` tokens, which follow `resident` tokens, a layer of the group needs to
// compute the next tokens: as many as the layer keeps of a sequence of this length. Returns 0 for recurrent
// layers, which need a state instead.
int64_t needed_tokens(const LayerGroup& group, int64_t found, int64_t resident);

struct GroupRefusal {
  std::string field;  // key of the policy: "restore"
  std::string found;
  std::string allowed;  // allowed values, with the reason
};
// Returns the reason why the policy cannot serve the model. Returns nullopt if it can, which is always the
// case if all layers keep all tokens. REQUIRES: the options have their preset.
std::optional<GroupRefusal> refusal(const PolicyOptions& options, const ModelSpec& model);

}  // namespace kvcap
