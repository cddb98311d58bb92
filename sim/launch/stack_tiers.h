// The tiers that the flags of each stack can express, according to the table of policies. A tier that is read
// from a launch line has its stack's options; a launch line is written only for tiers with exactly these
// options.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "scenario/scenario.h"

namespace kvcap {

// Returns the tier of a kind (named as in policy.tiers) with its default size, which it has if the launch
// line does not set it. Returns nullptr if the flags of the policy's stack cannot express such a tier.
const TierOptions* stack_tier(std::string_view policy, std::string_view kind);
// True iff the stack has a flag for the tier's size; without one a tier has the full size of the hardware.
bool has_size_flag(std::string_view policy, std::string_view kind);
// Returns the tier's kind; Mooncake Store is a remote tier with its own eviction order.
std::string_view kind_name(const TierOptions& tier);

// Returns the tier as JSON of a scenario: the stack's options, and `members`, the JSON texts by key that the
// launch line sets.
std::string tier_json(const TierOptions& own, const std::map<std::string, std::string>& members);

}  // namespace kvcap
