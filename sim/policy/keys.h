// The keys of a scenario's policy, and who listens to which. Every policy accepts every key, so that one
// scenario serves several of them; a key that changes nothing is named in a note of the result.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "policy/options.h"

namespace kvcap {

// Where a policy runs, as far as that decides which keys it listens to.
struct KeySurroundings {
  bool keeps = false;       // some tier holds contexts, the GPU's own included
  bool host_tiers = false;  // some of them is a host tier
  bool scores = false;      // some tier keeps the highest scores
  bool pieces = false;      // prompts are put together from pieces
  bool texts = false;       // which are texts that can be asked about one by one
};

// The names of all keys but `name`.
std::span<const std::string_view> policy_keys();

// Of the keys that are set in `given` those that change nothing; `options` are the same with their preset.
// `tiers` is never among them: that policies which keep nothing have no use for it goes without saying.
std::vector<std::string_view> unused_keys(const PolicyOptions& given, const PolicyOptions& options,
                                          const KeySurroundings& where);
// The keys that a policy listens to on some machine with some workload. `options` have their preset.
std::vector<std::string_view> heard_keys(const PolicyOptions& options);

}  // namespace kvcap
